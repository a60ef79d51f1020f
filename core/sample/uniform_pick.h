// Every candidate is as likely as any other.
#pragma once

#include <cstdint>

#include "core/base/buffer.h"
#include "core/base/random.h"
#include "core/sample/candidates.h"
#include "core/sample/position_set.h"

namespace gz {

inline constexpr EdgeId kAllNeighbors = -1;

// Appends every candidate.
inline void pick_all(const Candidates& candidates, Buffer<EdgeId>& out) {
  const EdgeId count = candidates.count();
  EdgeId* const picked = out.extend(static_cast<std::size_t>(count));
  if (candidates.is_plain()) {
    for (EdgeId i = 0; i < count; ++i) picked[i] = candidates.range.begin + i;
  } else {
    for (EdgeId i = 0; i < count; ++i) picked[i] = candidates.at(i);
  }
}

// `fanout` of them, in O(fanout) whatever the degree; all if there are not more.
class UniformPick {
 public:
  // Whether a pick reads entries of the list itself.
  static constexpr bool kReadsLists = false;

  explicit UniformPick(bool replace) : replace_(replace) {}

  void pick(const Candidates& candidates, EdgeId fanout, Key key, Buffer<EdgeId>& out) {
    const EdgeId count = candidates.count();
    if (count == 0 || fanout == 0) return;
    if (fanout == kAllNeighbors || (!replace_ && count <= fanout)) return pick_all(candidates, out);
    Rng rng(key);
    EdgeId* const picked = out.extend(static_cast<std::size_t>(fanout));
    if (replace_) {
      for (EdgeId i = 0; i < fanout; ++i) picked[i] = below(rng, count);
    } else if (fanout <= kFew && count <= kNarrow) {
      pick_few(rng, count, fanout, picked);
    } else {
      pick_many(rng, count, fanout, picked);
    }
    if (candidates.is_plain()) {
      for (EdgeId i = 0; i < fanout; ++i) picked[i] += candidates.range.begin;
    } else {
      for (EdgeId i = 0; i < fanout; ++i) picked[i] = candidates.at(picked[i]);
    }
  }

 private:
  // Up to this many picks comparing with each of them beats a hash set.
  static constexpr EdgeId kFew = 64;
  static constexpr EdgeId kNarrow = std::int64_t{1} << 31;

  static EdgeId below(Rng& rng, EdgeId count) {
    return static_cast<EdgeId>(rng.below(static_cast<std::uint64_t>(count)));
  }

  // Floyd's sampling (Bentley, Floyd: A Sample of Brilliance, CACM 1987): a uniform subset from
  // exactly `fanout` draws. The order of the picks is not uniform.
  static void pick_few(Rng& rng, EdgeId count, EdgeId fanout, EdgeId* picked) {
    std::uint32_t seen[kFew];
    for (EdgeId i = 0; i < fanout; ++i) {
      const EdgeId last = count - fanout + i;
      auto chosen = static_cast<std::uint32_t>(below(rng, last + 1));
      bool known = false;
      for (EdgeId j = 0; j < i; ++j) known |= seen[j] == chosen;
      if (known) chosen = static_cast<std::uint32_t>(last);
      seen[i] = chosen;
      picked[i] = chosen;
    }
  }

  void pick_many(Rng& rng, EdgeId count, EdgeId fanout, EdgeId* picked) {
    seen_.reset(static_cast<std::size_t>(fanout));
    for (EdgeId i = 0; i < fanout; ++i) {
      const EdgeId last = count - fanout + i;
      EdgeId chosen = below(rng, last + 1);
      if (!seen_.insert(chosen)) {
        chosen = last;
        seen_.insert(chosen);
      }
      picked[i] = chosen;
    }
  }

  bool replace_;
  PositionSet seen_;
};

}  // namespace gz
