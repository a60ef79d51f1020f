// Edges of a synthetic graph, any block of them at any time: the same for any number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "core/base/types.h"
#include "core/synth/edge_laws.h"
#include "core/synth/node_places.h"

namespace gz {

// One side of the edges: how many nodes, and which of the data set's kinds of node they are.
struct SynthNodes {
  std::uint64_t num_nodes = 0;
  std::uint64_t kind = 0;
};

struct BlockOptions {
  std::uint64_t classes = 1;
  int skew = 3;  // see RankedClasses
  double homophily = 0;
};

// `num_edges` edges of kind `kind`, at most 2^48, numbered from 0. Throws std::invalid_argument if
// there is no node, more than 2^40, or on a side fewer than classes.
class SyntheticEdges {
 public:
  static SyntheticEdges blocks(std::uint64_t seed, std::uint64_t kind, SynthNodes src,
                               SynthNodes dst, std::uint64_t num_edges,
                               const BlockOptions& options);
  static SyntheticEdges rmat(std::uint64_t seed, std::uint64_t num_nodes, std::uint64_t num_edges);
  static SyntheticEdges attachment(std::uint64_t seed, std::uint64_t num_nodes,
                                   std::uint64_t num_edges);

  std::uint64_t num_edges() const { return num_edges_; }

  // Edges first, first + 1, … into spans of equal length. Throws std::out_of_range if there are not
  // so many.
  void fill(std::uint64_t first, std::span<NodeId> src, std::span<NodeId> dst) const;

 private:
  using Law = std::variant<BlockLaw, RmatLaw, AttachmentLaw>;
  SyntheticEdges(NodePlaces src, NodePlaces dst, std::uint64_t num_edges, Law law)
      : src_(src), dst_(dst), num_edges_(num_edges), law_(law) {}

  NodePlaces src_, dst_;
  std::uint64_t num_edges_;
  Law law_;
};

// The places of a kind of node; the same wherever that kind takes part.
NodePlaces places_of(std::uint64_t seed, SynthNodes nodes);

}  // namespace gz
