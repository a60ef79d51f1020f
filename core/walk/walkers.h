// The walkers of one group: where each of them stands and what it draws with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "core/base/types.h"
#include "core/store/topology.h"

namespace gz {

// As a node: this walk is over. As a previous node: the next step is a first step.
inline constexpr NodeId kNowhere = -1;
// As a position: the node has no entry to follow, or the walk goes to its start instead.
inline constexpr EdgeId kDeadEnd = -1;
inline constexpr EdgeId kRestart = -2;

// Numbers of walkers inside their group.
using Chosen = std::span<const std::uint32_t>;

// The arrays run beside each other.
struct Walkers {
  // Keeps its memory, and what is in it.
  void resize(std::size_t count) {
    start.resize(count);
    node.resize(count);
    previous.resize(count);
    key.resize(count, Key(0, {}));
    rng.resize(count, Rng(0, {}));
    list.resize(count);
    position.resize(count);
  }

  std::size_t size() const { return node.size(); }

  std::vector<NodeId> start;
  std::vector<NodeId> node;
  std::vector<NodeId> previous;
  std::vector<Key> key;          // (seed, walk)
  std::vector<Rng> rng;          // (seed, walk, step) of the step that is being taken
  std::vector<EdgeRange> list;   // the entries of `node`
  std::vector<EdgeId> position;  // the entry that is followed, or kDeadEnd
};

}  // namespace gz
