#include "core/sample/mirror.h"

#include <algorithm>
#include <compare>
#include <vector>

namespace gz {

void mirror(SampledEdges& sampled) {
  struct Edge {
    std::int64_t near;
    std::int64_t far;
    EdgeId edge;
    auto operator<=>(const Edge&) const = default;
  };
  const std::size_t count = sampled.edges.size();
  std::vector<Edge> edges;
  edges.reserve(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    edges.push_back({sampled.near[i], sampled.far[i], sampled.edges[i]});
    edges.push_back({sampled.far[i], sampled.near[i], sampled.edges[i]});
  }
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
