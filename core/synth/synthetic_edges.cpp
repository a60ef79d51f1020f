#include "core/synth/synthetic_edges.h"

#include <algorithm>
#include <stdexcept>

#include "core/base/error.h"
#include "core/base/parallel.h"

namespace gz {

namespace {

// A few hundred microseconds of work.
constexpr std::size_t kGrain = 8192;

// Ranks are computed in float64, which tells so many nodes apart with room to spare.
constexpr std::uint64_t kMostNodes = std::uint64_t{1} << 40;

Key edges_key(std::uint64_t seed, std::uint64_t kind) {
  return synthesis_key(seed, Drawn::kEdges).with(kind);
}

}  // namespace

NodePlaces places_of(std::uint64_t seed, SynthNodes nodes) {
  if (nodes.num_nodes < 1 || nodes.num_nodes > kMostNodes) {
    throw std::invalid_argument(
        concat("expected 1 to ", kMostNodes, " nodes, found ", nodes.num_nodes));
  }
  return NodePlaces(nodes.num_nodes, synthesis_key(seed, Drawn::kPlaces).with(nodes.kind));
}

SyntheticEdges SyntheticEdges::blocks(std::uint64_t seed, std::uint64_t kind, SynthNodes src,
                                      SynthNodes dst, std::uint64_t num_edges,
                                      const BlockOptions& options) {
  const std::uint64_t fewest = std::min(src.num_nodes, dst.num_nodes);
  if (options.classes < 1 || options.classes > fewest) {
    throw std::invalid_argument(
        concat("expected 1 to ", fewest, " classes, one node each, found ", options.classes));
  }
  return SyntheticEdges(places_of(seed, src), places_of(seed, dst), num_edges,
                        BlockLaw(edges_key(seed, kind), src.num_nodes, dst.num_nodes,
                                 options.classes, options.skew, options.homophily));
}

SyntheticEdges SyntheticEdges::rmat(std::uint64_t seed, std::uint64_t num_nodes,
                                    std::uint64_t num_edges) {
  const NodePlaces places = places_of(seed, {num_nodes, 0});
  return SyntheticEdges(places, places, num_edges, RmatLaw(edges_key(seed, 0), num_nodes));
}

SyntheticEdges SyntheticEdges::attachment(std::uint64_t seed, std::uint64_t num_nodes,
                                          std::uint64_t num_edges) {
  const NodePlaces places = places_of(seed, {num_nodes, 0});
  return SyntheticEdges(places, places, num_edges,
                        AttachmentLaw(edges_key(seed, 0), num_nodes, num_edges));
}

void SyntheticEdges::fill(std::uint64_t first, std::span<NodeId> src, std::span<NodeId> dst) const {
  if (first > num_edges_ || src.size() > num_edges_ - first) {
    throw std::out_of_range(concat("expected edges below ", num_edges_, ", found ", src.size(),
                                   " from ", first, " on"));
  }
  std::visit(
      [&](const auto& law) {
        parallel_chunks(src.size(), kGrain, [&](std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end; ++i) {
            const PlacePair ends = law(first + i);
            src[i] = static_cast<NodeId>(src_.node(ends.src));
            dst[i] = static_cast<NodeId>(dst_.node(ends.dst));
          }
        });
      },
      law_);
}

}  // namespace gz
