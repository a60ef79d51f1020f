// Edges that run both ways: one per pair of nodes.
#pragma once

#include <span>
#include <vector>

#include "core/base/types.h"
#include "core/sample/neighborhood.h"
#include "core/store/topology.h"

namespace gz {

// Of the edges between the same two nodes keeps the one with the lowest edge id. Sorted by (near,
// far); no longer grouped by hop.
void keep_one_per_pair(SampledEdges& edges);

// Item i is the lowest id of the edges between nodes[i] and neighbors[i], looked up in the list of
// nodes[i], or -1.
std::vector<EdgeId> lowest_edges(const Topology& graph, Direction direction,
                                 std::span<const NodeId> nodes, std::span<const NodeId> neighbors);

}  // namespace gz
