// Edges a sample must not contain: those whose existence is to be predicted.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/random.h"
#include "core/base/types.h"
#include "core/store/index_reader.h"

namespace gz {

// Names edges by their ends, and where that is not enough (parallel edges) by their edge ids.
struct EdgePairs {
  std::span<const NodeId> src;
  std::span<const NodeId> dst;
  std::optional<std::span<const EdgeId>> edges;  // none: all edges between the ends
};

class ExcludedEdges {
 public:
  // In the direction of the frontier: its nodes are the destinations when sampling `kIn`. With
  // `reverse`, edges from dst to src are excluded too: in an undirected graph under the same edge
  // id, in a directed one, where the reverse of an edge is another edge, under any. Throws
  // std::out_of_range for ids that are not in `graph`, std::invalid_argument for arrays of
  // different lengths.
  ExcludedEdges(const Topology& graph, Direction direction, const EdgePairs& pairs, bool reverse);

  bool empty() const { return pairs_.empty(); }

  // The positions in `range`, part of the list of `node`, that are excluded, rising.
  template <class Id>
  void find(const IndexReader<Id>& reader, NodeId node, EdgeRange range,
            std::vector<EdgeId>& holes) const {
    holes.clear();
    if (!maybe_[slot(node)]) return;
    const auto first = std::lower_bound(pairs_.begin(), pairs_.end(), Pair{node, 0, kAnyEdge});
    const auto last =
        std::lower_bound(first, pairs_.end(), Pair{node + 1, 0, kAnyEdge});  // of this node
    const auto is_excluded = [&](const Pair& pair, EdgeId at) {
      return pair.edge == kAnyEdge || pair.edge == reader.edge_id(at);
    };
    if (!sorted_) {
      for (EdgeId at = range.begin; at < range.end; ++at) {
        if ((at - range.begin) % kAskEvery == kAskEvery - 1) check_interrupt();
        const NodeId neighbor = reader.neighbor(at);
        auto pair = std::lower_bound(first, last, Pair{node, neighbor, kAnyEdge});
        while (pair != last && pair->neighbor == neighbor && !is_excluded(*pair, at)) ++pair;
        if (pair != last && pair->neighbor == neighbor) holes.push_back(at);
      }
      return;
    }
    for (auto pair = first; pair != last; ++pair) {
      const Id* const found = std::lower_bound(reader.entry(range.begin), reader.entry(range.end),
                                               static_cast<Id>(pair->neighbor));
      for (EdgeId at = found - reader.entry(0); at < range.end; ++at) {
        if (reader.neighbor(at) != pair->neighbor) break;
        if (is_excluded(*pair, at)) holes.push_back(at);
      }
    }
    std::sort(holes.begin(), holes.end());
    holes.erase(std::unique(holes.begin(), holes.end()), holes.end());
  }

 private:
  static constexpr EdgeId kAnyEdge = -1;
  static constexpr EdgeId kAskEvery = 1 << 18;  // entries that are read before it is asked to stop

  struct Pair {
    NodeId node;
    NodeId neighbor;
    EdgeId edge;
    auto operator<=>(const Pair&) const = default;
  };

  // Almost no node of a frontier has an excluded edge: 8 kB of bits say so without a search.
  static constexpr std::size_t kBits = 1 << 16;
  static std::size_t slot(NodeId node) {
    return mix64(static_cast<std::uint64_t>(node)) & (kBits - 1);
  }

  bool sorted_;  // by neighbour
  std::vector<Pair> pairs_;
  std::bitset<kBits> maybe_;
};

}  // namespace gz
