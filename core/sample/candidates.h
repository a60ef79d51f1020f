// The entries of a list that may be drawn: all of it, a stretch in time, without holes.
#pragma once

#include <algorithm>
#include <span>

#include "core/base/types.h"
#include "core/store/topology.h"

namespace gz {

struct Candidates {
  EdgeRange list;                  // all entries of the node
  EdgeRange range;                 // those to draw from, except for the holes,
  std::span<const EdgeId> holes;   // which lie in the range and rise;
  std::span<const EdgeId> chosen;  // or, if has_chosen, exactly these, rising
  bool has_chosen = false;

  EdgeId count() const {
    return has_chosen ? static_cast<EdgeId>(chosen.size())
                      : range.size() - static_cast<EdgeId>(holes.size());
  }

  bool is_plain() const { return !has_chosen && holes.empty(); }
  // Nothing of the list was left out.
  bool is_whole() const { return is_plain() && range.size() == list.size(); }

  // The position of candidate number `rank`.
  EdgeId at(EdgeId rank) const {
    if (has_chosen) return chosen[static_cast<std::size_t>(rank)];
    EdgeId position = range.begin + rank;
    for (const EdgeId hole : holes) {
      if (hole > position) break;
      ++position;
    }
    return position;
  }

  bool contains(EdgeId position) const {
    if (has_chosen) return std::binary_search(chosen.begin(), chosen.end(), position);
    return position >= range.begin && position < range.end &&
           !std::binary_search(holes.begin(), holes.end(), position);
  }
};

}  // namespace gz
