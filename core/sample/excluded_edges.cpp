#include "core/sample/excluded_edges.h"

#include <stdexcept>

#include "core/base/error.h"

namespace gz {

ExcludedEdges::ExcludedEdges(const Topology& graph, Direction direction, const EdgePairs& pairs,
                             bool reverse)
    : sorted_(graph.layout().sorted && graph.index(direction).times.data() == nullptr) {
  const std::size_t count = pairs.src.size();
  if (pairs.dst.size() != count || (!pairs.edges.empty() && pairs.edges.size() != count)) {
    throw std::invalid_argument(
        concat("exclude: expected ", count, " items in each array, as many as its sources, found ",
               pairs.dst.size() != count ? pairs.dst.size() : pairs.edges.size()));
  }
  check_nodes(graph, pairs.src, graph.num_nodes(Direction::kOut), "exclude sources");
  check_nodes(graph, pairs.dst, graph.num_nodes(Direction::kIn), "exclude destinations");
  if (reverse && graph.layout().bipartite) {
    throw std::invalid_argument(
        concat(graph.path(),
               ": is bipartite, so its edges have no reverse in it; exclude the edges "
               "of the relation that holds them"));
  }
  const auto add = [&](NodeId src, NodeId dst, EdgeId edge) {
    const bool from_dst = direction == Direction::kIn;
    pairs_.push_back({from_dst ? dst : src, from_dst ? src : dst, edge});
    maybe_.set(slot(pairs_.back().node));
  };
  for (std::size_t i = 0; i < count; ++i) {
    const EdgeId edge = pairs.edges.empty() ? -1 : pairs.edges[i];
    add(pairs.src[i], pairs.dst[i], edge);
    if (reverse) add(pairs.dst[i], pairs.src[i], edge);
  }
  std::sort(pairs_.begin(), pairs_.end());
}

}  // namespace gz
