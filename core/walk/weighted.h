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
  std::vector<double> totals;  // of the walkers' lists
  std::vector<WeightedDraw::Search> searches;
  std::vector<std::uint32_t> searching;

  void make_room(std::size_t num_walkers) {
    totals.resize(num_walkers);
    searches.resize(num_walkers);
  }
};

template <class Id>
class Weighted {
 public:
  using Scratch = WeightedScratch;
  static constexpr bool kAtOnce = false;

  // Throws std::invalid_argument if the graph has no weights.
  Weighted(const Topology& graph, Direction direction)
      : index_(graph, direction), draw_(graph, direction) {}

  const IndexReader<Id>& index() const { return index_; }

  template <class Ahead>
  void choose(Walkers& walkers, Chosen chosen, Scratch& scratch, Ahead& ahead) const {
    open(walkers, chosen, scratch, ahead);
    draw(walkers, chosen, scratch, ahead);
  }

  // Throws std::invalid_argument for a node whose weights are all 0.
  template <class Ahead>
  void open(Walkers& walkers, Chosen chosen, Scratch& scratch, Ahead& ahead) const {
    scratch.make_room(walkers.size());
    auto& totals = scratch.totals;
    for (const std::uint32_t i : chosen) {
      const EdgeRange list = walkers.list[i] = index_.edges_of(walkers.node[i]);
      if (list.size() == 0) continue;
      ahead.want(draw_.last_sum(list));
      ahead.want(draw_.weight_address(
          std::max(list.begin, (list.end - 1) / kWeightStride * kWeightStride)));
    }
    ahead.flush();
    for (const std::uint32_t i : chosen) {
      const EdgeRange list = walkers.list[i];
      if (list.size() == 0) continue;
      totals[i] = draw_.total(list);
      if (totals[i] == 0) [[unlikely]]
        refuse(walkers.node[i], list);
    }
  }

  template <class Ahead>
  void draw(Walkers& walkers, Chosen chosen, Scratch& scratch, Ahead& ahead) const {
    auto& [totals, searches, searching] = scratch;
    searching.clear();
    for (const std::uint32_t i : chosen) {
      if (walkers.list[i].size() == 0) {
        walkers.position[i] = kDeadEnd;
        continue;
      }
      const double target = walkers.rng[i].uniform() * totals[i];
      searches[i] = draw_.begin_search(walkers.list[i], target, totals[i]);
      ahead.want(draw_.next_read(walkers.list[i], searches[i]));
      searching.push_back(i);
    }
    ahead.flush();
    while (!searching.empty()) {
      std::size_t kept = 0;
      for (const std::uint32_t i : searching) {
        if (searches[i].count == 0) continue;
        draw_.narrow(searches[i]);
        ahead.want(draw_.next_read(walkers.list[i], searches[i]));
        searching[kept++] = i;
      }
      searching.resize(kept);
      ahead.flush();
    }
    for (const std::uint32_t i : chosen) {
      if (walkers.list[i].size() == 0) continue;
      walkers.position[i] = draw_.finish_search(walkers.list[i], searches[i]);
      ahead.want(index_.entry(walkers.position[i]));
    }
    ahead.flush();
  }

  double weight(EdgeId position) const { return draw_.weight(position); }
  double total(const Walkers&, const Scratch& scratch, std::uint32_t i) const {
    return scratch.totals[i];
  }

 private:
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
