// The uniform step: every entry of a node's list is as likely as any other.
#pragma once

#include "core/store/index_reader.h"
#include "core/walk/walkers.h"

namespace gz {

// A policy chooses the entries that walkers follow. choose() is open(), which reads the lists, and
// then draw(), which may be repeated. `Scratch` is what it keeps beside the walkers of a chunk.
template <class Id>
class Uniform {
 public:
  struct Scratch {};

  Uniform(const Topology& graph, Direction direction) : index_(graph, direction) {}

  const IndexReader<Id>& index() const { return index_; }

  template <class Any, class Ahead>
  void choose(Walkers& walkers, Chosen chosen, Any&, Ahead& ahead) const {
    for (const std::uint32_t i : chosen) {
      walkers.list[i] = index_.edges_of(walkers.node[i]);
      draw_one(walkers, i, ahead);
    }
    ahead.flush();
  }

  template <class Any, class Ahead>
  void open(Walkers& walkers, Chosen chosen, Any&, Ahead&) const {
    for (const std::uint32_t i : chosen) walkers.list[i] = index_.edges_of(walkers.node[i]);
  }

  template <class Any, class Ahead>
  void draw(Walkers& walkers, Chosen chosen, Any&, Ahead& ahead) const {
    for (const std::uint32_t i : chosen) draw_one(walkers, i, ahead);
    ahead.flush();
  }

  // The weight of an entry and of an open list.
  double weight(EdgeId) const { return 1; }
  double total(const Walkers& walkers, const Scratch&, std::uint32_t i) const {
    return static_cast<double>(walkers.list[i].size());
  }

 private:
  template <class Ahead>
  void draw_one(Walkers& walkers, std::uint32_t i, Ahead& ahead) const {
    const EdgeRange list = walkers.list[i];
    if (list.size() == 0) {
      walkers.position[i] = kDeadEnd;
      return;
    }
    const auto size = static_cast<std::uint64_t>(list.size());
    walkers.position[i] = list.begin + static_cast<EdgeId>(walkers.rng[i].below(size));
    ahead.want(index_.entry(walkers.position[i]));
  }

  IndexReader<Id> index_;
};

}  // namespace gz
