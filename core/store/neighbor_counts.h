// How often each node stands in the lists of an index: how often a sampler can meet it.
#pragma once

#include <cstdint>

#include "core/base/recycled_vector.h"
#include "core/base/types.h"
#include "core/store/topology.h"

namespace gz {

// Counts stop here. Far from 2^32, so that threads that count side by side cannot step past it.
inline constexpr std::uint32_t kMostNeighborCount = std::uint32_t{1} << 31;

// Item v counts the entries of the index of `direction` that name node v, over
// num_neighbor_nodes(direction) nodes: sources for kIn. If the other index is stored its degrees
// tell; else all entries are read once, in order. Takes 4 bytes per node. Throws FormatError if the
// file is corrupt, MemoryShortage.
RecycledVector<std::uint32_t> neighbor_counts(const Topology& graph, Direction direction);

}  // namespace gz
