// Random walks: one row of nodes per start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/buffer.h"
#include "core/base/types.h"
#include "core/store/topology.h"

namespace gz {

struct WalkOptions {
  std::uint64_t length = 0;  // steps
  double p = 1;              // node2vec: small returns often
  double q = 1;              // node2vec: small goes far
  double restart = 0;        // chance of a step to go to the start instead
  bool weighted = false;
  std::uint64_t seed = 0;  // a draw is keyed by (seed, walk, step, draw), never by thread
};

// Row-major: num_walks rows of num_columns = length + 1 nodes, the first of which is the start.
struct Walks {
  Buffer<NodeId> nodes;
  std::size_t num_walks = 0;
  std::size_t num_columns = 0;
};

// A dead end stands still. Behind a restart the next step is a first step, which knows no p and q.
// Throws std::out_of_range for a start that is no node, std::invalid_argument for other arguments
// and for a weighted walk that reaches a node whose weights are all 0, MemoryShortage if the result
// would not fit, FormatError if the file is corrupt.
Walks random_walk(const Topology& graph, Direction direction, std::span<const NodeId> starts,
                  const WalkOptions& options);

// One step of a metapath follows the edges of `graph` from source to destination.
struct MetapathStep {
  const Topology* graph;
  bool leads_home;  // destinations are of the kind that walks start from
};

// Step s follows path[s % path.size()]. Behind a dead end a row is filled with -1. A restart is
// only possible where a step leads home, so that every column has nodes of one kind. p and q must
// be 1. Errors as above.
Walks metapath_walk(std::span<const MetapathStep> path, std::span<const NodeId> starts,
                    const WalkOptions& options);

}  // namespace gz
