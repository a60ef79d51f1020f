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
// As a position: the node has no entry to follow, the walk goes to its start instead, or the entry
// is being searched for.
inline constexpr EdgeId kDeadEnd = -1;
inline constexpr EdgeId kRestart = -2;
inline constexpr EdgeId kSearching = -3;

// Numbers of walkers inside their group.
using Chosen = std::span<const std::uint32_t>;

// A cache line, and one address for all of it.
struct alignas(64) Walker {
  NodeId start = kNowhere;
  NodeId node = kNowhere;
  NodeId previous = kNowhere;
  EdgeId position = kDeadEnd;  // the entry that is followed, or one of the above
  EdgeRange list = {};         // the entries of `node`
  Key key = Key(0, {});        // (seed, walk)
  Rng rng = Rng(0, {});        // (seed, walk, step) of the step that is being taken
};

using Walkers = std::vector<Walker>;

}  // namespace gz
