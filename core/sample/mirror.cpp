#include "core/sample/mirror.h"

#include <algorithm>
#include <compare>
#include <vector>

#include "core/base/dispatch.h"
#include "core/store/index_reader.h"

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

EdgeId lowest_edge(const Topology& graph, Direction direction, NodeId node, NodeId neighbor) {
  const bool sorted = graph.in_order_of_neighbor();
  return with_id_type(graph.layout().id_width, [&]<class Id>() -> EdgeId {
    const IndexReader<Id> reader(graph, direction);
    const EdgeRange list = reader.edges_of(node);
    const Id* const begin = reader.entry(list.begin);
    const Id* const end = reader.entry(list.end);
    const auto id = static_cast<Id>(neighbor);
    const Id* entry = sorted ? std::lower_bound(begin, end, id) : begin;
    EdgeId lowest = -1;
    for (; entry != end && (!sorted || *entry == id); ++entry) {
      if (*entry != id) continue;
      const EdgeId edge = reader.edge_id(list.begin + (entry - begin));
      lowest = lowest < 0 ? edge : std::min(lowest, edge);
    }
    return lowest;
  });
}

}  // namespace gz
