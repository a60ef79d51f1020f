// Layer-neighbour sampling: frontier nodes that share a neighbour tend to pick it together.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/random.h"
#include "core/sample/candidates.h"
#include "core/sample/smallest.h"
#include "core/sample/uniform_pick.h"
#include "core/sample/weighted_pick.h"
#include "core/store/index_reader.h"
#include "core/store/weighted_draw.h"

namespace gz {

// One random number per neighbour and layer decides for all lists it stands in; a list picks its
// `fanout` smallest (Balın, Çatalyürek: Layer-Neighbor Sampling, NeurIPS 2023, in the form with a
// fixed fanout). Each node's picks have the law of ordinary sampling, except that parallel edges
// stand or fall together, yet a layer holds fewer different nodes, so fewer rows are read from
// disk. Looks at every candidate: O(degree).
template <class Id>
class LaborPick {
 public:
  static constexpr bool kReadsLists = true;

  LaborPick(IndexReader<Id> reader, Direction direction, std::optional<WeightedDraw> weights,
            Key layer)
      : reader_(reader), direction_(direction), weights_(weights), layer_(layer) {}

  template <class Picked>
  void pick(const Candidates& candidates, EdgeId fanout, Key, Picked& out) {
    const EdgeId count = candidates.count();
    if (!weights_ && (fanout == kAllNeighbors || count <= fanout)) return pick_all(candidates, out);
    smallest_.reset(
        static_cast<std::size_t>(fanout == kAllNeighbors || fanout > count ? count : fanout));
    for (EdgeId i = 0; i < count; ++i) {
      const EdgeId position = candidates.at(i);
      Rng rng(layer_.with(static_cast<std::uint64_t>(reader_.neighbor(position))));
      if (!weights_) {
        smallest_.offer(rng.uniform(), position);
      } else if (const float weight = weights_->weight(position); weight > 0) {
        smallest_.offer(rng.exponential() / static_cast<double>(weight), position);
      }
    }
    const std::size_t before = out.size();
    smallest_.take(out);
    if (out.size() == before && fanout != 0 && count > 0 && candidates.is_whole())
      refuse_zero_weights(reader_.graph(), direction_, candidates.list);
  }

 private:
  IndexReader<Id> reader_;
  Direction direction_;
  std::optional<WeightedDraw> weights_;
  Key layer_;
  Smallest<double> smallest_;
};

}  // namespace gz
