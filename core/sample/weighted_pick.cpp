#include "core/sample/weighted_pick.h"

#include <algorithm>
#include <stdexcept>

#include "core/base/error.h"

namespace gz {

void refuse_zero_weights(const Topology& graph, Direction direction, EdgeRange list) {
  const auto indptr = graph.index(direction).indptr;
  const auto node = std::upper_bound(indptr.begin(), indptr.end(), list.begin) - indptr.begin() - 1;
  graph.mapping()->check_intact();
  throw std::invalid_argument(concat(
      graph.path(), ": node ", node, " has ", list.size(),
      " edges and all their weights are 0: expected at least one above 0 to draw by weight"));
}

}  // namespace gz
