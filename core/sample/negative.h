// Negative sampling: pairs of nodes that stand for "no edge", on request checked to be none.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/types.h"
#include "core/sample/node_weights.h"
#include "core/store/topology.h"

namespace gz {

enum class NegativeLaw : std::uint8_t { kUniform, kDegree, kWeights };

// How the nodes of one end of a pair are drawn.
struct EndLaw {
  NegativeLaw by = NegativeLaw::kUniform;
  std::shared_ptr<const NodeWeights> weights;  // kWeights: of all nodes of that end
};

struct NegativeOptions {
  EndLaw src;  // not used where sources are given
  EndLaw dst;
  double power = 0.75;         // kDegree: a node comes with probability degree^power
  bool exclude_edges = false;  // never a pair that is an edge
  std::uint64_t seed = 0;
};

// The nodes that pairs are drawn from: those of a graph, or of two types that no graph joins.
struct NegativeEnds {
  NegativeEnds(const Topology& edges)
      : num_src(edges.num_nodes(Direction::kOut)),
        num_dst(edges.num_nodes(Direction::kIn)),
        graph(&edges) {}
  NegativeEnds(NodeId num_sources, NodeId num_destinations)
      : num_src(num_sources), num_dst(num_destinations) {}

  // kOut: the nodes that edges start from; kIn: those they lead to.
  NodeId num_nodes(Direction side) const { return side == Direction::kOut ? num_src : num_dst; }

  NodeId num_src;
  NodeId num_dst;
  const Topology* graph = nullptr;  // must be there to exclude edges or to draw by degree
};

struct NodePairs {
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
};

// Throws std::invalid_argument if the law has weights, and not one for each node of `side`.
void check_weights(const NegativeEnds& ends, const EndLaw& law, Direction side);

// All three throw std::invalid_argument if there is no node to draw or check_weights() throws it,
// MemoryShortage if the result has no room. The results depend on the seed, never on the number of
// threads.

// `amount` destinations for each source, row after row. Draw j for the source at position i has the
// key (seed, i, j). A source that has an edge to all choices is named with its position. Without a
// graph the sources themselves are not looked at.
std::vector<NodeId> sample_negatives(const NegativeEnds& ends, std::span<const NodeId> sources,
                                     std::uint64_t amount, const NegativeOptions& options);

// `amount` destinations for all sources together: no source has an edge to any of them, if edges
// are excluded. Draw j has the key (seed, 0, j), as if there were one source.
std::vector<NodeId> sample_shared_negatives(const Topology& graph, std::span<const NodeId> sources,
                                            std::uint64_t amount, const NegativeOptions& options);

// Both ends drawn, each by its law; by degree that is out-degree for sources, in-degree for
// destinations. With edges excluded the pairs that are left keep their proportions. Pair i has the
// key (seed, i).
NodePairs sample_negative_pairs(const NegativeEnds& ends, std::uint64_t count,
                                const NegativeOptions& options);

}  // namespace gz
