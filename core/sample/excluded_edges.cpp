#include "core/sample/excluded_edges.h"

#include <stdexcept>

#include "core/base/error.h"

namespace gz {

ExcludedEdges::ExcludedEdges(const Topology& graph, Direction direction, const EdgePairs& pairs,
                             bool reverse)
    : sorted_(graph.in_order_of_neighbor()) {
  const std::size_t count = pairs.src.size();
  for (const std::size_t found : {pairs.dst.size(), pairs.edges ? pairs.edges->size() : count}) {
    if (found == count) continue;
    throw std::invalid_argument(concat("exclude: expected ", count,
                                       " items in each array, as many as its sources, found ",
                                       found));
  }
  check_nodes(graph, pairs.src, graph.num_nodes(Direction::kOut), "exclude sources");
  check_nodes(graph, pairs.dst, graph.num_nodes(Direction::kIn), "exclude destinations");
  const auto num_ids = static_cast<EdgeId>(graph.layout().num_input_edges);
  for (std::size_t i = 0; pairs.edges && i < count; ++i) {
    const EdgeId edge = (*pairs.edges)[i];
    if (edge >= 0 && edge < num_ids) continue;
    throw std::out_of_range(concat("exclude edge ids[", i, "]: edge id ", edge, " is not in ",
                                   graph.path(), ", which was made from ", num_ids, " edges"));
  }
  const auto add = [&](NodeId src, NodeId dst, EdgeId edge) {
    const bool from_dst = direction == Direction::kIn;
    pairs_.push_back({from_dst ? dst : src, from_dst ? src : dst, edge});
    maybe_.set(slot(pairs_.back().node));
  };
  for (std::size_t i = 0; i < count; ++i) {
    const EdgeId edge = pairs.edges ? (*pairs.edges)[i] : kAnyEdge;
    add(pairs.src[i], pairs.dst[i], edge);
    if (reverse) add(pairs.dst[i], pairs.src[i], graph.layout().directed ? kAnyEdge : edge);
  }
  std::sort(pairs_.begin(), pairs_.end());
}

}  // namespace gz
