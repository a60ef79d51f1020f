// The uniform step: every entry of a node's list is as likely as any other.
#pragma once

#include "core/store/index_reader.h"
#include "core/walk/walkers.h"

namespace gz {

// A policy chooses the entries that walkers follow. choose() is open(), which reads the lists, and
// then draw(), which may be repeated. `Scratch` is what it keeps beside the walkers of a group. A
// policy that is at once needs nothing but a node and a draw.
template <class Id>
class Uniform {
 public:
  struct Scratch {};
  static constexpr bool kAtOnce = true;

  Uniform(const Topology& graph, Direction direction) : index_(graph, direction) {}

  const IndexReader<Id>& index() const { return index_; }

  // The entry a walker at `node` follows, or kDeadEnd.
  EdgeId choose(NodeId node, Rng rng) const { return draw(index_.edges_of(node), rng); }

  template <class Any, class Ahead>
  void open(Walkers& walkers, Chosen chosen, Any&, Ahead&) const {
    for (const std::uint32_t i : chosen) walkers.list[i] = index_.edges_of(walkers.node[i]);
  }

  template <class Any, class Ahead>
  void draw(Walkers& walkers, Chosen chosen, Any&, Ahead& ahead) const {
    for (const std::uint32_t i : chosen) {
      walkers.position[i] = draw(walkers.list[i], walkers.rng[i]);
      if (walkers.position[i] != kDeadEnd) ahead.want(index_.entry(walkers.position[i]));
    }
    ahead.flush();
  }

  // The weight of an entry and of an open list.
  double weight(EdgeId) const { return 1; }
  double total(const Walkers& walkers, const Scratch&, std::uint32_t i) const {
    return static_cast<double>(walkers.list[i].size());
  }

 private:
  static EdgeId draw(EdgeRange list, Rng& rng) {
    if (list.size() == 0) return kDeadEnd;
    return list.begin + static_cast<EdgeId>(rng.below(static_cast<std::uint64_t>(list.size())));
  }

  IndexReader<Id> index_;
};

}  // namespace gz
