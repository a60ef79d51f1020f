// Keeps the k smallest of a stream of keyed positions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/base/types.h"

namespace gz {

template <class Rank>
class Smallest {
 public:
  void reset(std::size_t count) {
    count_ = count;
    kept_.clear();
  }

  void offer(Rank rank, EdgeId position) {
    const Item item{rank, position};
    if (kept_.size() < count_) {
      kept_.push_back(item);
      std::push_heap(kept_.begin(), kept_.end());
    } else if (count_ > 0 && item < kept_.front()) {
      std::pop_heap(kept_.begin(), kept_.end());
      kept_.back() = item;
      std::push_heap(kept_.begin(), kept_.end());
    }
  }

  // Adds the kept positions, rising.
  template <class Picked>
  void take(Picked& out) {
    std::sort(kept_.begin(), kept_.end(),
              [](const Item& a, const Item& b) { return a.position < b.position; });
    out.reserve(static_cast<EdgeId>(kept_.size()));
    for (const Item& item : kept_) out.add(item.position);
  }

 private:
  struct Item {
    Rank rank;
    EdgeId position;  // decides between equal ranks
    bool operator<(const Item& other) const {
      return rank != other.rank ? rank < other.rank : position < other.position;
    }
  };

  std::size_t count_ = 0;
  std::vector<Item> kept_;  // a heap, its largest item in front
};

}  // namespace gz
