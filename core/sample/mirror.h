// Edges that run both ways: one per pair of nodes.
#pragma once

#include "core/base/types.h"
#include "core/sample/neighborhood.h"
#include "core/store/topology.h"

namespace gz {

// Of the edges between the same two nodes keeps the one with the lowest edge id. Sorted by (near,
// far); no longer grouped by hop.
void keep_one_per_pair(SampledEdges& edges);

// The lowest id of the edges between `node` and `neighbor`, looked up in the list of `node`, or -1.
EdgeId lowest_edge(const Topology& graph, Direction direction, NodeId node, NodeId neighbor);

}  // namespace gz
