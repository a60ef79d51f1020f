#include "core/sample/mirror.h"

#include <algorithm>
#include <compare>
#include <vector>

#include "core/base/dispatch.h"
#include "core/store/adjacency.h"

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

std::vector<EdgeId> lowest_edges(const Topology& graph, Direction direction,
                                 std::span<const NodeId> nodes, std::span<const NodeId> neighbors) {
  std::vector<EdgeId> lowest(nodes.size(), -1);
  guarded(*graph.mapping(), [&] {
    with_id_type(graph.layout().id_width, [&]<class Id>() {
      using Lookup = EdgeLookup<Id>;
      const IndexReader<Id> reader(graph, direction);
      const Lookup lookup(reader);
      CacheLines ahead;
      std::vector<typename Lookup::Question> group(Lookup::kGroup);
      for (std::size_t begin = 0; begin < nodes.size(); begin += group.size()) {
        group.resize(std::min(Lookup::kGroup, nodes.size() - begin));
        for (std::size_t i = 0; i < group.size(); ++i) reader.prefetch_range(nodes[begin + i]);
        for (std::size_t i = 0; i < group.size(); ++i) {
          group[i].to = neighbors[begin + i];
          group[i].index = &reader;
          group[i].list = reader.edges_of(nodes[begin + i]);
        }
        lookup.answer_in_list(std::span(group), ahead);
        for (std::size_t i = 0; i < group.size(); ++i)
          lowest[begin + i] = lookup.lowest_edge(group[i]);
      }
    });
  });
  return lowest;
}

}  // namespace gz
