// The uniform step: every entry of a node's list is as likely as any other.
#pragma once

#include "core/store/index_reader.h"
#include "core/walk/walkers.h"

namespace gz {

// A policy chooses the entries that walkers follow. One of first order needs nothing but the node
// that a walker is at, and chooses in stages, each of which asks for what the next one reads:
// start(), look<0>() … look<kLooks - 1>(), each of which is repeated while it returns true, and
// entry(). `Scratch` is what it keeps beside the walkers of a group.
//
// It can also propose entries to a policy of second order: open() reads the lists of many walkers,
// and draw(), which may be repeated, proposes an entry of each; no list is empty there.
template <class Id>
class Uniform {
 public:
  struct Scratch {
    void make_room(std::size_t) {}
  };
  static constexpr bool kFirstOrder = true;
  static constexpr std::size_t kLooks = 0;

  Uniform(const Topology& graph, Direction direction) : index_(graph, direction) {}

  const IndexReader<Id>& index() const { return index_; }

  template <class Any, class Ahead>
  [[gnu::always_inline]] void start(Walkers& walkers, std::size_t i, Rng rng, Any&,
                                    Ahead& ahead) const {
    const EdgeRange list = index_.edges_of(walkers[i].node);
    if (list.size() == 0) return;
    walkers[i].position = draw(list, rng);
    ahead.want(index_.entry(walkers[i].position));
  }

  template <class Any>
  EdgeId entry(const Walkers& walkers, std::size_t i, const Any&) const {
    return walkers[i].position;
  }

  template <class Any, class Ahead>
  void open(Walkers& walkers, Chosen chosen, Any&, Ahead&) const {
    for (const std::uint32_t i : chosen) walkers[i].list = index_.edges_of(walkers[i].node);
  }

  template <class Any, class Ahead>
  void draw(Walkers& walkers, Chosen chosen, Any&, Ahead& ahead) const {
    for (const std::uint32_t i : chosen) {
      walkers[i].position = draw(walkers[i].list, walkers[i].rng);
      ahead.want(index_.entry(walkers[i].position));
    }
    ahead.flush();
  }

  // The weight of an entry and of an open list.
  double weight(EdgeId) const { return 1; }
  double total(const Walkers& walkers, const Scratch&, std::uint32_t i) const {
    return static_cast<double>(walkers[i].list.size());
  }

 private:
  static EdgeId draw(EdgeRange list, Rng& rng) {
    return list.begin + static_cast<EdgeId>(rng.below(static_cast<std::uint64_t>(list.size())));
  }

  IndexReader<Id> index_;
};

}  // namespace gz
