// A candidate is drawn in proportion to its weight.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/prefetch.h"
#include "core/base/random.h"
#include "core/sample/candidates.h"
#include "core/sample/position_set.h"
#include "core/sample/smallest.h"
#include "core/sample/uniform_pick.h"
#include "core/store/weighted_draw.h"

namespace gz {

// Throws std::invalid_argument naming the node whose list this is.
[[noreturn]] void refuse_zero_weights(const Topology& graph, Direction direction, EdgeRange list);

// Without replacement means one after the other, each in proportion to its weight among those left.
// Entries of weight 0 are never picked, so a pick may be shorter than the fanout.
class WeightedPick {
 public:
  static constexpr bool kReadsLists = false;

  WeightedPick(const Topology& graph, Direction direction, bool replace)
      : graph_(&graph), direction_(direction), draw_(graph, direction), replace_(replace) {}

  // Asks for what a pick from `list` reads first. (Were it not inlined, GCC 12 would take a
  // function of nothing but prefetches for one without effect, and drop the call.)
  [[gnu::always_inline]] void prepare(EdgeRange list, EdgeId fanout) const {
    const bool scanned = fanout == kAllNeighbors || list.size() / kFewPerPick <= fanout;
    if (!scanned) prefetch(draw_.last_sum(list));
    const EdgeId first = scanned ? list.begin : std::max(list.begin, list.end - kWeightStride);
    for (EdgeId at = first; at < list.end; at += kWeightStride) prefetch(draw_.weight_address(at));
    prefetch(draw_.weight_address(list.end - 1));
  }

  // Throws std::invalid_argument if all weights of a whole list are 0.
  template <class Picked>
  void pick(const Candidates& candidates, EdgeId fanout, Key key, Picked& out) {
    const EdgeId count = candidates.count();
    if (count == 0 || fanout == 0) return;
    const std::size_t before = out.size();
    Rng rng(key);
    if (fanout == kAllNeighbors || (!replace_ && count <= fanout)) {
      out.reserve(count);
      for (EdgeId i = 0; i < count; ++i) {
        const EdgeId position = candidates.at(i);
        if (draw_.weight(position) > 0) out.add(position);
      }
    } else if (replace_) {
      pick_with_replacement(candidates, fanout, rng, out);
    } else {
      pick_without_replacement(candidates, fanout, rng, out);
    }
    if (out.size() == before && candidates.is_whole())
      refuse_zero_weights(*graph_, direction_, candidates.list);
  }

 private:
  // Below this many candidates per pick, looking at each of them is cheaper than drawing until
  // enough different ones have come.
  static constexpr EdgeId kFewPerPick = 4;
  // Draws per pick after which the weights are too uneven for it. Any limit leaves the law exact.
  static constexpr EdgeId kTriesPerPick = 8;
  static constexpr EdgeId kSideBySide = 32;
  // A window that weighs less than this part of the sums it is the difference of has lost digits.
  static constexpr double kTooLight = 0x1.0p-20;

  struct Window {
    double below = 0;  // the weight of the list before the window
    double total = 0;  // 0: cannot be drawn from by sums
  };

  Window window(const Candidates& candidates) const {
    if (candidates.has_chosen) return {};
    const double below = draw_.sum_before(candidates.list, candidates.range.begin);
    const double above = draw_.sum_before(candidates.list, candidates.range.end);
    if (above - below < above * kTooLight) return {};
    return {below, above - below};
  }

  // Draws by sums until `fanout` have been taken or the tries are used up; returns how many were
  // taken. Draws run side by side, so that they wait for memory together, and are looked at in
  // order, so that the result is that of one after the other. `take` says whether it takes one.
  template <class Take>
  EdgeId draw_by_sums(const Candidates& candidates, EdgeId fanout, Rng& rng, Take take) const {
    const Window part = window(candidates);
    if (!(part.total > 0)) return 0;
    const double end = part.below + part.total;
    const bool whole = candidates.is_whole();
    double targets[kSideBySide];
    EdgeId positions[kSideBySide];
    EdgeId taken = 0;
    for (EdgeId tries = fanout * kTriesPerPick; taken < fanout && tries > 0;) {
      const EdgeId count = std::min({fanout - taken, tries, kSideBySide});
      for (EdgeId i = 0; i < count; ++i) targets[i] = part.below + rng.uniform() * part.total;
      draw_.find(candidates.list, {targets, static_cast<std::size_t>(count)}, end, positions);
      for (EdgeId i = 0; i < count; ++i) {
        // Rounding, or a hole, may lead to an entry that is not a candidate.
        if (targets[i] < end && (whole || candidates.contains(positions[i])))
          taken += take(positions[i]);
      }
      tries -= count;
    }
    return taken;
  }

  template <class Picked>
  void pick_with_replacement(const Candidates& candidates, EdgeId fanout, Rng& rng, Picked& out) {
    out.reserve(fanout);
    const EdgeId picked = draw_by_sums(candidates, fanout, rng, [&](EdgeId position) {
      out.add(position);
      return true;
    });
    if (picked < fanout) scan_with_replacement(candidates, fanout - picked, rng, out);
  }

  // One draw after the other by looking at every candidate.
  template <class Picked>
  void scan_with_replacement(const Candidates& candidates, EdgeId fanout, Rng& rng, Picked& out) {
    const EdgeId count = candidates.count();
    double total = 0;
    for (EdgeId i = 0; i < count; ++i) total += draw_.weight(candidates.at(i));
    if (!(total > 0)) return;
    for (EdgeId picked = 0; picked < fanout; ++picked) {
      const double target = rng.uniform() * total;
      double sum = 0;
      for (EdgeId i = 0; i < count; ++i) {
        const EdgeId position = candidates.at(i);
        sum += draw_.weight(position);
        if (sum > target) {
          out.add(position);
          break;
        }
      }
    }
  }

  template <class Picked>
  void pick_without_replacement(const Candidates& candidates, EdgeId fanout, Rng& rng,
                                Picked& out) {
    out.reserve(fanout);
    seen_.reset(static_cast<std::size_t>(fanout));
    EdgeId picked = 0;
    if (candidates.count() > fanout * kFewPerPick) {
      picked = draw_by_sums(candidates, fanout, rng, [&](EdgeId position) {
        if (!seen_.insert(position)) return false;
        out.add(position);
        return true;
      });
    }
    if (picked < fanout) scan_without_replacement(candidates, fanout - picked, rng, out);
  }

  // The smallest exponential numbers with the weights as rates are picks without replacement
  // (Efraimidis, Spirakis: Weighted Random Sampling with a Reservoir, IPL 2006).
  template <class Picked>
  void scan_without_replacement(const Candidates& candidates, EdgeId fanout, Rng& rng,
                                Picked& out) {
    smallest_.reset(static_cast<std::size_t>(fanout));
    const EdgeId count = candidates.count();
    for (EdgeId i = 0; i < count; ++i) {
      const EdgeId position = candidates.at(i);
      const float weight = draw_.weight(position);
      const double rank = rng.exponential() / static_cast<double>(weight);
      if (weight > 0 && !seen_.contains(position)) smallest_.offer(rank, position);
    }
    smallest_.take(out);
  }

  const Topology* graph_;
  Direction direction_;
  WeightedDraw draw_;
  bool replace_;
  PositionSet seen_;
  Smallest<double> smallest_;
};

}  // namespace gz
