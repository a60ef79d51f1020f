// What Python hands to samplers and pipelines, and what it gets back: structs with the same fields
// on both sides.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <vector>

#include "bindings/arrays.h"
#include "core/sample/neighbor.h"

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

  Relation without_excluded() const {
    return {graph, src_type, dst_type, fanouts, weighted, timed, reverse, {}};
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
  nb::object ids;
  std::vector<std::int64_t> per_hop;
};

}  // namespace gz
