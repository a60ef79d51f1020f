// What is asked of the arguments of neighbour sampling, once per call; the engine then trusts them.
#pragma once

#include <span>

#include "core/sample/neighbor.h"

namespace gz {

// Throws as sample_neighbors() says.
void check_arguments(std::span<const TypeSeeds> seeds, std::span<const Relation> relations,
                     const NeighborOptions& options);

}  // namespace gz
