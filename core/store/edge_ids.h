// The ids of edges that are known by their places in an index.
#pragma once

#include <span>

#include "core/base/buffer.h"
#include "core/base/types.h"
#include "core/store/topology.h"

namespace gz {

// The ids of the entries at `positions`, one by one. Throws std::out_of_range for a position that
// the index does not have, FormatError, IoError.
Buffer<EdgeId> edge_ids_at(const Topology& graph, Direction direction,
                           std::span<const EdgeId> positions);

}  // namespace gz
