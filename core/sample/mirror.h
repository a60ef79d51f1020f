// Makes sampled edges run both ways.
#pragma once

#include "core/sample/neighborhood.h"

namespace gz {

// Adds the reverse of each edge under the same edge id, then keeps one edge per pair of nodes: the
// one with the lowest edge id. Sorted by (near, far); no longer grouped by hop.
void mirror(SampledEdges& edges);

}  // namespace gz
