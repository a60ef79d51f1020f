#include "core/sample/mirror.h"

#include <algorithm>
#include <compare>
#include <vector>

namespace gz {

void keep_one_per_pair(SampledEdges& sampled) {
  struct Edge {
    std::int64_t near;
    std::int64_t far;
    EdgeId edge;
    auto operator<=>(const Edge&) const = default;
  };
  std::vector<Edge> edges;
  edges.reserve(sampled.edges.size());
  for (std::size_t i = 0; i < sampled.edges.size(); ++i)
    edges.push_back({sampled.near[i], sampled.far[i], sampled.edges[i]});
  std::sort(edges.begin(), edges.end());
  const auto last = std::unique(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return a.near == b.near && a.far == b.far;
  });
  sampled = {};
  for (auto edge = edges.begin(); edge != last; ++edge) {
    sampled.near.push_back(edge->near);
    sampled.far.push_back(edge->far);
    sampled.edges.push_back(edge->edge);
  }
}

}  // namespace gz
