// Edges that run both ways: one per pair of nodes.
#pragma once

#include "core/sample/neighborhood.h"

namespace gz {

// Of the edges between the same two nodes keeps the one with the lowest edge id. Sorted by (near,
// far); no longer grouped by hop.
void keep_one_per_pair(SampledEdges& edges);

}  // namespace gz
