// Every candidate is as likely as any other.
#pragma once

#include <cstdint>

#include "core/base/random.h"
#include "core/sample/candidates.h"
#include "core/sample/position_set.h"

namespace gz {

inline constexpr EdgeId kAllNeighbors = -1;

// Adds every candidate.
template <class Picked>
void pick_all(const Candidates& candidates, Picked& out) {
  if (candidates.is_plain()) return out.add_all(candidates.range);
  const EdgeId count = candidates.count();
  out.reserve(count);
  for (EdgeId i = 0; i < count; ++i) out.add(candidates.at(i));
}

// `fanout` of them, in O(fanout) whatever the degree; all if there are not more.
class UniformPick {
 public:
  // Whether a pick reads entries of the list itself.
  static constexpr bool kReadsLists = false;

  explicit UniformPick(bool replace) : replace_(replace) {}

  template <class Picked>
  void pick(const Candidates& candidates, EdgeId fanout, Key key, Picked& out) {
    const EdgeId count = candidates.count();
    if (count == 0 || fanout == 0) return;
    if (fanout == kAllNeighbors || (!replace_ && count <= fanout)) return pick_all(candidates, out);
    out.reserve(fanout);
    if (!candidates.is_plain()) {
      choose(count, fanout, key, [&](EdgeId rank) { out.add(candidates.at(rank)); });
    } else {
      choose(count, fanout, key, [&](EdgeId rank) __attribute__((always_inline)) {
        out.add(candidates.range.begin + rank);
      });
    }
  }

 private:
  // Up to this many picks comparing with each of them beats a hash set.
  static constexpr EdgeId kFew = 64;
  static constexpr EdgeId kNarrow = std::int64_t{1} << 31;

  [[gnu::always_inline]] static EdgeId below(Rng& rng, EdgeId count) {
    return static_cast<EdgeId>(rng.below(static_cast<std::uint64_t>(count)));
  }

  // Calls `take` with `fanout` numbers below `count`.
  template <class Take>
  void choose(EdgeId count, EdgeId fanout, Key key, Take take) {
    Rng rng(key);
    if (replace_) {
      for (EdgeId i = 0; i < fanout; ++i) take(below(rng, count));
    } else if (fanout <= kFew && count <= kNarrow) {
      choose_few(rng, count, fanout, take);
    } else {
      choose_many(rng, count, fanout, take);
    }
  }

  // Floyd's sampling (Bentley, Floyd: A Sample of Brilliance, CACM 1987): a uniform subset from
  // exactly `fanout` draws. The order of the picks is not uniform.
  template <class Take>
  static void choose_few(Rng& rng, EdgeId count, EdgeId fanout, Take take) {
    std::uint32_t seen[kFew];
    for (EdgeId i = 0; i < fanout; ++i) {
      const EdgeId last = count - fanout + i;
      auto chosen = static_cast<std::uint32_t>(below(rng, last + 1));
      bool known = false;
      for (EdgeId j = 0; j < i; ++j) known |= seen[j] == chosen;
      if (known) chosen = static_cast<std::uint32_t>(last);
      seen[i] = chosen;
      take(chosen);
    }
  }

  template <class Take>
  void choose_many(Rng& rng, EdgeId count, EdgeId fanout, Take take) {
    seen_.reset(static_cast<std::size_t>(fanout));
    for (EdgeId i = 0; i < fanout; ++i) {
      const EdgeId last = count - fanout + i;
      EdgeId chosen = below(rng, last + 1);
      if (!seen_.insert(chosen)) {
        chosen = last;
        seen_.insert(chosen);
      }
      take(chosen);
    }
  }

  bool replace_;
  PositionSet seen_;
};

}  // namespace gz
