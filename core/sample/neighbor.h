// Fanout sampling: seeds in, one relabelled neighbourhood out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/types.h"
#include "core/sample/excluded_edges.h"
#include "core/sample/neighborhood.h"
#include "core/store/topology.h"

namespace gz {

// The nodes of one type to start from.
struct TypeSeeds {
  std::span<const NodeId> nodes;
  std::span<const std::int64_t> times;       // beside the nodes; empty: not temporal
  std::span<const std::int64_t> node_times;  // of all nodes of the type; empty: they have none
  NodeId num_nodes = 0;                      // of the type
};

// One graph of a heterogeneous set. A homogeneous sample has one type and one relation.
struct Relation {
  const Topology* graph = nullptr;
  std::size_t src_type = 0;
  std::size_t dst_type = 0;
  std::vector<EdgeId> fanouts;  // one per hop; kAllNeighbors keeps the whole list
  bool weighted = false;        // entries are drawn by the weights of the edges
  bool timed = false;           // temporal: edges have the times, unless the neighbours have some
  // Sampled edges have their ids. If not, they have positions in the index, and a file that stores
  // ids is not asked for them; edge_ids_at() (core/store/edge_ids.h) tells them later.
  // Bidirectional samples have ids.
  bool edge_ids = true;
  // Bidirectional samples: the relation that holds the reverses of these edges, which may be this
  // one. Empty: none does.
  std::optional<std::size_t> reverse;
  EdgePairs excluded;
};

// The type of frontier nodes, and that of the neighbours drawn for them.
inline std::size_t near_type(const Relation& relation, Direction direction) {
  return direction == Direction::kIn ? relation.dst_type : relation.src_type;
}
inline std::size_t far_type(const Relation& relation, Direction direction) {
  return direction == Direction::kIn ? relation.src_type : relation.dst_type;
}

enum class Subgraph {
  kDirectional,    // the sampled edges
  kBidirectional,  // and their reverses; no pair of nodes twice
  kInduced,        // every edge between sampled nodes
};

struct NeighborOptions {
  std::size_t num_hops = 0;
  Direction direction = Direction::kIn;  // frontier nodes are the destinations
  bool replace = false;
  bool disjoint = false;  // a tree of its own for every seed
  bool temporal = false;  // needs disjoint; what has no time is not limited by it
  bool last = false;      // temporal: the newest instead of random ones, where there are times
  std::optional<std::int64_t> time_window;
  bool labor = false;
  bool layer_dependency = false;  // labor: one random number per neighbour for all hops
  Subgraph subgraph = Subgraph::kDirectional;
  bool exclude_reverse = false;
  std::uint64_t seed = 0;  // a draw is keyed by (seed, epoch, batch, hop, relation, node, tree)
  std::uint64_t epoch = 0;
  std::uint64_t batch = 0;
};

// Whether the edges that are sampled of a relation have positions instead of ids.
bool have_positions(const Relation& relation, const NeighborOptions& options);

// `seeds` has an item per node type. Trees are numbered over all types in their order. The result
// has the same bits for any number of threads. Throws std::out_of_range if a seed is no node,
// std::invalid_argument for options that do not go together or that a graph lacks the data for,
// MemoryShortage if the sample does not fit.
Neighborhood sample_neighbors(std::span<const TypeSeeds> seeds, std::span<const Relation> relations,
                              const NeighborOptions& options);

}  // namespace gz
