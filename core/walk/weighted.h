// The weighted step: an entry is followed in proportion to its weight.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "core/base/error.h"
#include "core/store/index_reader.h"
#include "core/store/weighted_draw.h"
#include "core/walk/walkers.h"

namespace gz {

struct WeightedScratch {
  struct alignas(64) Draw {
    double total;  // of the walker's list
    double share;  // of this total: where the draw is
    WeightedDraw::Search search;
  };
  std::vector<Draw> draws;  // by walker

  void make_room(std::size_t num_walkers) { draws.resize(num_walkers); }
};

template <class Id>
class Weighted {
 public:
  using Scratch = WeightedScratch;
  static constexpr bool kFirstOrder = true;
  static constexpr std::size_t kLooks = 2;

  // Throws std::invalid_argument if the graph has no weights.
  Weighted(const Topology& graph, Direction direction)
      : index_(graph, direction), draw_(graph, direction) {}

  const IndexReader<Id>& index() const { return index_; }

  // What the sum of the list is read from and where its search will begin are asked for at once.
  template <class Ahead>
  [[gnu::always_inline]] void start(Walkers& walkers, std::size_t i, Rng rng, Scratch& scratch,
                                    Ahead& ahead) const {
    if (!open(walkers[i], ahead)) return;
    aim(walkers[i], rng, scratch.draws[i], ahead);
    walkers[i].position = kSearching;
  }

  // The first look is enough for most. Others wait for theirs here, unless that is for a device.
  // Throws std::invalid_argument for a node whose weights are all 0.
  template <std::size_t kLook, class Ahead>
  [[gnu::always_inline]] bool look(Walkers& walkers, std::size_t i, Scratch& scratch,
                                   Ahead& ahead) const {
    if (walkers[i].position != kSearching) return false;
    auto& [total, share, search] = scratch.draws[i];
    if constexpr (kLook == 0) {
      total = total_of(walkers[i]);
      search.target = share * total;
      if (search.count > 0) draw_.narrow(search);
    } else {
      if (search.count == 0) return false;
      do draw_.narrow(search);
      while (search.count > 0 && !Ahead::kPages);
    }
    ask(walkers[i].list, search, ahead);
    return kLook > 0 && search.count > 0;
  }

  EdgeId entry(const Walkers& walkers, std::size_t i, const Scratch& scratch) const {
    if (walkers[i].position != kSearching) return walkers[i].position;
    return draw_.finish_search(walkers[i].list, scratch.draws[i].search);
  }

  template <class Ahead>
  void open(Walkers& walkers, Chosen chosen, Scratch& scratch, Ahead& ahead) const {
    for (const std::uint32_t i : chosen) open(walkers[i], ahead);
    ahead.flush();
    for (const std::uint32_t i : chosen) {
      if (walkers[i].list.size() > 0) scratch.draws[i].total = total_of(walkers[i]);
    }
  }

  template <class Ahead>
  void draw(Walkers& walkers, Chosen chosen, Scratch& scratch, Ahead& ahead) const {
    for (const std::uint32_t i : chosen) {
      auto& [total, share, search] = scratch.draws[i];
      aim(walkers[i], walkers[i].rng, scratch.draws[i], ahead);
      search.target = share * total;
    }
    ahead.flush();
    for (bool more = true; more;) {
      more = false;
      for (const std::uint32_t i : chosen) {
        WeightedDraw::Search& search = scratch.draws[i].search;
        if (search.count == 0) continue;
        draw_.narrow(search);
        ask(walkers[i].list, search, ahead);
        more = true;
      }
      ahead.flush();
    }
    for (const std::uint32_t i : chosen)
      walkers[i].position = draw_.finish_search(walkers[i].list, scratch.draws[i].search);
  }

  double weight(EdgeId position) const { return draw_.weight(position); }
  double total(const Walkers&, const Scratch& scratch, std::uint32_t i) const {
    return scratch.draws[i].total;
  }

 private:
  // Reads the list and asks for what its sum is read from. False: it is empty.
  template <class Ahead>
  [[gnu::always_inline]] bool open(Walker& walker, Ahead& ahead) const {
    const EdgeRange list = walker.list = index_.edges_of(walker.node);
    if (list.size() == 0) return false;
    ahead.want(draw_.last_sum(list));
    ahead.want(draw_.weight_address(draw_.last_block(list)));
    return true;
  }

  double total_of(const Walker& walker) const {
    const double total = draw_.total(walker.list);
    if (total == 0) [[unlikely]]
      refuse(walker.node, walker.list);
    return total;
  }

  template <class Ahead>
  [[gnu::always_inline]] void aim(const Walker& walker, Rng& rng, Scratch::Draw& draw,
                                  Ahead& ahead) const {
    draw.share = rng.uniform();
    draw.search = draw_.begin_search(walker.list, draw.share);
    ask(walker.list, draw.search, ahead);
  }

  // Where the search goes on; at its end the neighbours too, of which one will be followed.
  template <class Ahead>
  [[gnu::always_inline]] void ask(EdgeRange list, const WeightedDraw::Search& search,
                                  Ahead& ahead) const {
    ahead.want(draw_.next_read(list, search));
    if (search.count > 0) return;
    const EdgeId first = draw_.first(list, search);
    ahead.want(index_.entry(first));
    constexpr EdgeId kPerLine = 64 / sizeof(Id);
    if constexpr (kPerLine < kWeightStride)
      ahead.want(index_.entry(std::min(first + kPerLine, list.end - 1)));
  }

  [[noreturn, gnu::noinline]] void refuse(NodeId node, EdgeRange list) const {
    index_.graph().mapping()->check_intact();
    throw std::invalid_argument(
        concat(index_.graph().path(), ": a weighted walk cannot leave node ", node,
               ": the weights of its ", list.size(),
               " edges are all 0; give one of them a weight, or walk with weighted=False"));
  }

  IndexReader<Id> index_;
  WeightedDraw draw_;
};

}  // namespace gz
