// What Python hands to samplers and pipelines, and what it gets back: structs with the same fields
// on both sides.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <vector>

#include "bindings/arrays.h"
#include "core/sample/neighbor.h"
#include "core/store/edge_ids.h"

namespace gz {

using Int64Array = InputArray<std::int64_t>;
using OptionalArray = std::optional<Int64Array>;

inline std::span<const std::int64_t> span_or_empty(const OptionalArray& array) {
  if (!array) return {};
  return as_span(*array);
}

struct NodeTypeIn {
  NodeId num_nodes;
  OptionalArray times;  // of all nodes
};

struct NodeSeedsIn {
  std::size_t type;
  OptionalArray ids;  // none: all nodes
  OptionalArray times;
};

struct RelationIn {
  const Topology* graph;
  std::size_t src_type;
  std::size_t dst_type;
  std::vector<EdgeId> fanouts;
  bool weighted;
  bool timed;
  std::optional<std::size_t> reverse;
  // Edges not to sample; a pipeline has none.
  OptionalArray excluded_src;
  OptionalArray excluded_dst;
  OptionalArray excluded_ids;

  // Ids of edges are read when somebody asks for them.
  Relation without_excluded() const {
    return {graph, src_type, dst_type, fanouts, weighted, timed, /*edge_ids=*/false, reverse, {}};
  }
};

// The nodes of one type in a sample.
struct NodesOut {
  nb::object ids;
  nb::object trees;  // None unless samples are disjoint
  std::vector<std::int64_t> per_hop;
};

// The edges of one relation in a sample.
struct EdgesOut {
  nb::object src;
  nb::object dst;
  nb::object ends;  // sources above destinations, if they are one array
  std::vector<std::int64_t> per_hop;
  nb::object ids;                 // or positions, if there is:
  nb::object graph = nb::none();  // the topology that has the ids
  Direction direction = Direction::kIn;

  // Reads ids that nobody has asked for yet.
  nb::object read_ids() {
    if (graph.is_none()) return ids;
    const nb::object held = graph;  // another thread may be the first to have read them
    const auto positions = nb::cast<Int64Array>(ids);
    const Topology& topology = nb::cast<const Topology&>(held);
    Buffer<EdgeId> found =
        without_gil([&] { return edge_ids_at(topology, direction, as_span(positions)); });
    ids = nb::cast(owned_array(std::move(found)));
    graph = nb::none();
    return ids;
  }
};

// The graph that `read_ids` reads from; None if the edges sampled of a relation have ids.
inline nb::object graph_of_ids(const Relation& relation, const NeighborOptions& options) {
  if (!have_positions(relation, options)) return nb::none();
  return nb::find(*relation.graph);
}

}  // namespace gz
