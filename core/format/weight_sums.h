// Adds up weights for the weight_sums section of an index, in the order its entries are written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/format/gl.h"

namespace gz {

class WeightSums {
 public:
  // The entries that follow are another node's.
  void start_list() { sum_ = 0; }

  // The next entries of the list, all of it or a part. Appends the items that fall on them to
  // `items`. Sums run in list order, so their bits do not depend on where a list is cut.
  void add(std::span<const float> weights, std::vector<double>& items) {
    for (std::size_t at = 0; at < weights.size();) {
      const std::size_t behind = position_ % kStride;
      if (behind == 0) items.push_back(sum_);
      const std::size_t stop = std::min(weights.size(), at + kStride - behind);
      position_ += stop - at;
      for (; at < stop; ++at) sum_ += weights[at];
    }
  }

 private:
  static constexpr std::size_t kStride = kWeightStride;

  std::size_t position_ = 0;  // of the next entry in the index
  double sum_ = 0;
};

}  // namespace gz
