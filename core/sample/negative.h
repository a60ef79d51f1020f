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

struct NodePairs {
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
};

// Throws std::invalid_argument if the law has weights, and not one for each node of `side`: kOut
// are the nodes that edges start from, kIn those they lead to.
void check_weights(const Topology& graph, const EndLaw& law, Direction side);

// All three throw std::invalid_argument if there is no node to draw or check_weights() throws it,
// MemoryShortage if the result has no room. The results depend on the seed, never on the number of
// threads.

// `amount` destinations for each source, row after row. Draw j for the source at position i has the
// key (seed, i, j). A source that has an edge to all choices is named with its position.
std::vector<NodeId> sample_negatives(const Topology& graph, std::span<const NodeId> sources,
                                     std::uint64_t amount, const NegativeOptions& options);

// `amount` destinations for all sources together: no source has an edge to any of them, if edges
// are excluded. Draw j has the key (seed, 0, j), as if there were one source.
std::vector<NodeId> sample_shared_negatives(const Topology& graph, std::span<const NodeId> sources,
                                            std::uint64_t amount, const NegativeOptions& options);

// Both ends drawn, each by its law; by degree that is out-degree for sources, in-degree for
// destinations. With edges excluded the
// pairs that are left keep their proportions. Pair i has the key (seed, i).
NodePairs sample_negative_pairs(const Topology& graph, std::uint64_t count,
                                const NegativeOptions& options);

}  // namespace gz
