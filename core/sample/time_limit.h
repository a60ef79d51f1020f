// Which entries of a list are old enough for a seed's point in time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/base/types.h"
#include "core/store/index_reader.h"

namespace gz {

// Entries from `seed time - window` up to the seed's time, both included. An entry's time is that
// of its edge, or that of the neighbour it leads to.
struct TimeLimit {
  std::span<const std::int64_t> edge_times;  // of the index; lists are sorted by them
  std::span<const std::int64_t> node_times;  // of the neighbours; takes precedence
  std::optional<std::int64_t> window;

  std::int64_t oldest(std::int64_t newest) const {
    constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
    if (!window || newest < kFirst + *window) return kFirst;
    return newest - *window;
  }

  // By edge times: the stretch of `list` that is allowed, in O(log degree).
  EdgeRange stretch(EdgeRange list, std::int64_t newest) const {
    const std::int64_t* const times = edge_times.data();
    const auto* const begin =
        std::lower_bound(times + list.begin, times + list.end, oldest(newest));
    const auto* const end = std::upper_bound(begin, times + list.end, newest);
    return {begin - times, end - times};
  }

  // By node times: the positions that are allowed, in O(degree).
  template <class Id>
  void choose(const IndexReader<Id>& reader, EdgeRange list, std::int64_t newest,
              std::vector<EdgeId>& chosen) const {
    chosen.clear();
    const std::int64_t first = oldest(newest);
    for (EdgeId at = list.begin; at < list.end; ++at) {
      const std::int64_t time = node_times[static_cast<std::size_t>(reader.neighbor(at))];
      if (time >= first && time <= newest) chosen.push_back(at);
    }
  }
};

}  // namespace gz
