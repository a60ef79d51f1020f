// What neighbour sampling returns: nodes by type and edges by relation, in local ids.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/types.h"

namespace gz {

// The nodes of one type: the seeds as they were given, then new nodes hop by hop in order of
// discovery. A node's local id is its place here. No node comes twice (in disjoint samples: twice
// in a tree), except a seed that was given twice.
struct SampledNodes {
  Buffer<NodeId> nodes;
  Buffer<std::int64_t> trees;         // disjoint samples: which seed's tree a node belongs to
  std::vector<std::int64_t> per_hop;  // seeds, then new nodes of hop 1, 2, …
};

// The edges of one relation, grouped by hop, behind each other per frontier node. `near` is the
// local id of the node the edge was sampled for, `far` that of the neighbour.
struct SampledEdges {
  Buffer<std::int64_t> near;
  Buffer<std::int64_t> far;
  Buffer<EdgeId> edges;               // ids, or positions: see have_positions()
  std::vector<std::int64_t> per_hop;  // empty where edges are not grouped by hop
};

struct Neighborhood {
  std::vector<SampledNodes> types;
  std::vector<SampledEdges> relations;
};

}  // namespace gz
