// One index of a topology with its types known: what inner loops read, every step checked.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/error.h"
#include "core/base/prefetch.h"
#include "core/base/types.h"
#include "core/store/topology.h"

namespace gz {

// Cheap to copy. Node arguments are trusted; offsets and ids that come from the file are compared
// with their bounds, and a bad one throws FormatError. Use inside guarded(*graph.mapping(), …), so
// that pages which vanish are not blamed on the format.
template <class Id>
class IndexReader {
 public:
  // Throws std::invalid_argument if the file does not store this index.
  IndexReader(const Topology& graph, Direction direction)
      : graph_(&graph),
        indptr_(graph.index(direction).indptr.data()),
        indices_(reinterpret_cast<const Id*>(graph.index(direction).indices)),
        edge_ids_(graph.index(direction).edge_ids),
        wide_edge_ids_(graph.layout().edge_id_width == IdWidth::k8),
        num_nodes_(graph.num_nodes(direction)),
        num_neighbors_(graph.num_neighbor_nodes(direction)),
        num_edges_(graph.num_edges()),
        num_edge_ids_(static_cast<EdgeId>(graph.layout().num_input_edges)) {}

  // The same index, with the position of an entry for its edge id: what is stored is not read.
  IndexReader with_positions() const {
    IndexReader reader = *this;
    reader.edge_ids_ = nullptr;
    return reader;
  }

  const Topology& graph() const { return *graph_; }
  NodeId num_nodes() const { return num_nodes_; }
  NodeId num_neighbor_nodes() const { return num_neighbors_; }
  EdgeId num_edges() const { return num_edges_; }

  const std::int64_t* offset_of(NodeId node) const { return indptr_ + node; }
  const Id* entry(EdgeId position) const { return indices_ + position; }

  // One list in eight has its two offsets in different cache lines.
  [[gnu::always_inline]] void prefetch_range(NodeId node) const {
    prefetch(indptr_ + node);
    prefetch(indptr_ + node + 1);
  }
  [[gnu::always_inline]] void prefetch_entry(EdgeId position) const {
    prefetch(indices_ + position);
  }
  [[gnu::always_inline]] void prefetch_edge_id(EdgeId position) const {
    if (has_edge_ids()) prefetch(edge_id_address(position));
  }

  // The innermost steps of every sampler: always inlined, or they take a fifth longer.
  [[gnu::always_inline]] EdgeRange edges_of(NodeId node) const {
    const EdgeRange range = {indptr_[node], indptr_[node + 1]};
    // Two comparisons: what is negative is larger than any number of edges. clang makes three
    // slower.
    const auto begin = static_cast<std::uint64_t>(range.begin);
    const auto end = static_cast<std::uint64_t>(range.end);
    if (begin > end || end > static_cast<std::uint64_t>(num_edges_)) [[unlikely]]
      refuse_range(node, range);
    return range;
  }

  [[gnu::always_inline]] NodeId neighbor(EdgeId position) const {
    const auto node = static_cast<NodeId>(indices_[position]);
    if (static_cast<std::uint64_t>(node) >= static_cast<std::uint64_t>(num_neighbors_)) [[unlikely]]
      refuse_id(position, node);
    return node;
  }

  // If not, an entry's position is its edge id, and has no address.
  bool has_edge_ids() const { return edge_ids_ != nullptr; }
  const std::byte* edge_id_address(EdgeId position) const {
    return edge_ids_ + position * (wide_edge_ids_ ? 8 : 4);
  }
  std::size_t edge_id_size() const { return wide_edge_ids_ ? 8 : 4; }

  // Below num_input_edges: that a position is, where it is the edge id, was proven by read_gl().
  [[gnu::always_inline]] EdgeId edge_id(EdgeId position) const {
    if (!has_edge_ids()) return position;
    const EdgeId edge = wide_edge_ids_ ? reinterpret_cast<const std::int64_t*>(edge_ids_)[position]
                                       : reinterpret_cast<const std::int32_t*>(edge_ids_)[position];
    if (edge < 0 || edge >= num_edge_ids_) [[unlikely]]
      refuse_edge_id(position, edge);
    return edge;
  }

 private:
  [[noreturn, gnu::noinline]] void refuse_range(NodeId node, EdgeRange range) const {
    graph_->mapping()->check_intact();
    throw FormatError(graph_->path(), "corrupt indptr at node ", node,
                      ": expected 0 <= begin <= end <= ", num_edges_, ", found begin ", range.begin,
                      ", end ", range.end);
  }
  [[noreturn, gnu::noinline]] void refuse_id(EdgeId position, NodeId node) const {
    graph_->mapping()->check_intact();
    throw FormatError(graph_->path(), "corrupt indices at entry ", position,
                      ": expected a node id below ", num_neighbors_, ", found ", node);
  }
  [[noreturn, gnu::noinline]] void refuse_edge_id(EdgeId position, EdgeId edge) const {
    graph_->mapping()->check_intact();
    throw FormatError(graph_->path(), "corrupt edge_ids at entry ", position,
                      ": expected an edge id below ", num_edge_ids_, ", found ", edge);
  }

  const Topology* graph_;
  const std::int64_t* indptr_;
  const Id* indices_;
  const std::byte* edge_ids_;
  bool wide_edge_ids_;
  NodeId num_nodes_;
  NodeId num_neighbors_;
  EdgeId num_edges_;
  EdgeId num_edge_ids_;
};

// Throws std::out_of_range naming the first of `nodes` that is not below `num_nodes`, and its
// position; `name` opens the message.
void check_nodes(const Topology& graph, std::span<const NodeId> nodes, NodeId num_nodes,
                 const char* name);

// Reads one index from end to end, for those who are handed its arrays and follow them unchecked.
// Throws FormatError if an offset, a neighbour or an edge id leads outside, or the lists leave out
// an entry; std::invalid_argument if the file does not store this index.
void check_index(const Topology& graph, Direction direction);

}  // namespace gz
