#include "core/convert/write_graph.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <compare>
#include <functional>
#include <stdexcept>
#include <vector>

#include "core/base/dispatch.h"
#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/format/gl_writer.h"
#include "core/format/weight_sums.h"

namespace gz {
namespace {

constexpr std::size_t kGrain = 1 << 16;
constexpr std::uint64_t kTooManyNodes = std::uint64_t{1}
                                        << 56;  // keeps 16 bytes a node inside 64 bits

void check_lengths(const EdgeList& edges) {
  const auto expect = [&](const char* name, std::size_t found) {
    if (found != edges.src.size()) {
      throw std::invalid_argument(concat(name, ": expected ", edges.src.size(),
                                         " items, as many as src has, found ", found));
    }
  };
  expect("dst", edges.dst.size());
  if (edges.weight) expect("weight", edges.weight->size());
  if (edges.time) expect("time", edges.time->size());
}

// The number of nodes on one side: as told, or one more than the largest id.
NodeId count_nodes(const char* name, std::span<const NodeId> ids, NodeId told) {
  std::atomic<NodeId> largest{-1};
  parallel_chunks(ids.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    NodeId found = -1;
    for (std::size_t i = begin; i < end; ++i) {
      if (ids[i] < 0)
        throw std::out_of_range(concat(name, "[", i, "]: expected a node id, found ", ids[i]));
      if (told >= 0 && ids[i] >= told) {
        throw std::out_of_range(concat(
            name, "[", i, "]: expected a node id below num_nodes = ", told, ", found ", ids[i]));
      }
      found = std::max(found, ids[i]);
    }
    NodeId seen = largest.load();
    while (found > seen && !largest.compare_exchange_weak(seen, found)) {
    }
  });
  return told >= 0 ? told : largest + 1;
}

void check_weights(std::span<const float> weights) {
  parallel_chunks(weights.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (!(std::isfinite(weights[i]) && weights[i] >= 0)) {
        throw std::invalid_argument(concat(
            "weight[", i, "]: expected a finite number that is not negative, found ", weights[i]));
      }
    }
  });
}

// Writes one index: counting sort by the node whose list an entry belongs to, then each list by
// (time, neighbour, edge id). `Id` holds both node and edge ids.
template <class Id>
class IndexBuilder {
 public:
  IndexBuilder(const EdgeList& edges, bool undirected, Direction direction, NodeId num_nodes)
      : keys_(direction == Direction::kOut ? edges.src : edges.dst),
        others_(direction == Direction::kOut ? edges.dst : edges.src),
        edges_(edges),
        undirected_(undirected),
        direction_(direction),
        indptr_(static_cast<std::size_t>(num_nodes) + 1, 0) {
    place_entries();
    sort_lists();
  }

  void write(GlWriter& writer, IdWidth id_width, IdWidth edge_id_width) const {
    writer.begin(direction_, GlRole::kIndptr, Dtype::kInt64);
    writer.append(std::span<const std::int64_t>(indptr_));
    writer.end();
    with_id_type(id_width, [&]<class Stored>() {
      write_column<Stored>(writer, GlRole::kIndices, id_dtype(id_width), &Entry::neighbor);
    });
    if (!edge_ids_are_positions()) {
      with_id_type(edge_id_width, [&]<class Stored>() {
        write_column<Stored>(writer, GlRole::kEdgeIds, id_dtype(edge_id_width), &Entry::edge);
      });
    }
    std::vector<double> weight_sums;
    if (edges_.weight) weight_sums = write_weights(writer, *edges_.weight);
    if (edges_.time) {
      const auto time = *edges_.time;
      write_column<std::int64_t>(writer, GlRole::kTimes, Dtype::kInt64, [&](const Entry& entry) {
        return time[static_cast<std::size_t>(entry.edge)];
      });
    }
    if (edges_.weight) {
      writer.begin(direction_, GlRole::kWeightSums, Dtype::kFloat64);
      writer.append(std::span<const double>(weight_sums));
      writer.end();
    }
  }

 private:
  struct Entry {
    Id neighbor;
    Id edge;
    auto operator<=>(const Entry&) const = default;
  };

  void place_entries() {
    for (const NodeId key : keys_) ++indptr_[static_cast<std::size_t>(key) + 1];
    if (undirected_) {
      for (const NodeId key : others_) ++indptr_[static_cast<std::size_t>(key) + 1];
    }
    for (std::size_t v = 1; v < indptr_.size(); ++v) indptr_[v] += indptr_[v - 1];
    entries_.resize(static_cast<std::size_t>(indptr_.back()));
    std::vector<std::int64_t> next(indptr_.begin(), indptr_.end() - 1);
    const auto place = [&](NodeId key, NodeId neighbor, std::size_t edge) {
      entries_[static_cast<std::size_t>(next[static_cast<std::size_t>(key)]++)] = {
          static_cast<Id>(neighbor), static_cast<Id>(edge)};
    };
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      place(keys_[i], others_[i], i);
      if (undirected_) place(others_[i], keys_[i], i);
      if (i % kGrain == 0) check_interrupt();
    }
  }

  void sort_lists() {
    parallel_for(indptr_.size() - 1, [&](std::size_t v) {
      const auto begin = entries_.begin() + indptr_[v];
      const auto end = entries_.begin() + indptr_[v + 1];
      if (!edges_.time) {
        std::sort(begin, end);
        return;
      }
      const auto time = *edges_.time;
      std::sort(begin, end, [&](const Entry& a, const Entry& b) {
        const std::int64_t time_a = time[static_cast<std::size_t>(a.edge)];
        const std::int64_t time_b = time[static_cast<std::size_t>(b.edge)];
        return time_a != time_b ? time_a < time_b : a < b;
      });
    });
  }

  bool edge_ids_are_positions() const {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (static_cast<std::size_t>(entries_[i].edge) != i) return false;
    }
    return true;
  }

  // Returns their sums, so that weights, which lie scattered, are gathered once for both sections.
  std::vector<double> write_weights(GlWriter& writer, std::span<const float> weight) const {
    WeightSums sums;
    std::vector<double> items;
    items.reserve(num_weight_sums(entries_.size()));
    std::size_t node = 0;
    std::int64_t at = 0;
    write_column<float>(
        writer, GlRole::kWeights, Dtype::kFloat32,
        [&](const Entry& entry) { return weight[static_cast<std::size_t>(entry.edge)]; },
        [&](std::span<const float> block) {
          while (!block.empty()) {
            for (; indptr_[node + 1] == at; ++node) sums.start_list();
            const std::size_t count =
                std::min(block.size(), static_cast<std::size_t>(indptr_[node + 1] - at));
            sums.add(block.first(count), items);
            block = block.subspan(count);
            at += static_cast<std::int64_t>(count);
          }
        });
    return items;
  }

  // `look`, if there is one, sees each block on its way to the file.
  template <class Stored, class Project>
  void write_column(GlWriter& writer, GlRole role, Dtype dtype, Project project,
                    const std::function<void(std::span<const Stored>)>& look = nullptr) const {
    writer.begin(direction_, role, dtype);
    std::vector<Stored> block(std::min(entries_.size(), kGrain));
    for (std::size_t begin = 0; begin < entries_.size(); begin += kGrain) {
      const std::size_t count = std::min(kGrain, entries_.size() - begin);
      for (std::size_t i = 0; i < count; ++i) {
        block[i] = static_cast<Stored>(std::invoke(project, entries_[begin + i]));
      }
      writer.append(std::span<const Stored>(block).first(count));
      if (look) look(std::span<const Stored>(block).first(count));
    }
    writer.end();
  }

  std::span<const NodeId> keys_;
  std::span<const NodeId> others_;
  const EdgeList& edges_;
  bool undirected_;
  Direction direction_;
  std::vector<std::int64_t> indptr_;
  std::vector<Entry> entries_;
};

}  // namespace

void write_graph(const std::string& path, const EdgeList& edges, const WriteGraphOptions& options) {
  if (!options.out_index && !options.in_index)
    throw std::invalid_argument("a graph needs an out or an in index");
  if (options.bipartite && !options.directed) {
    throw std::invalid_argument("a bipartite graph is directed: its two sides have different ids");
  }
  check_lengths(edges);
  if (edges.weight) check_weights(*edges.weight);
  NodeId num_src = count_nodes("src", edges.src, options.num_src_nodes);
  NodeId num_dst = count_nodes("dst", edges.dst, options.num_dst_nodes);
  if (!options.bipartite) num_src = num_dst = std::max(num_src, num_dst);

  const auto num_rows = static_cast<std::uint64_t>(edges.src.size());
  GlInfo info;
  info.directed = options.directed;
  info.bipartite = options.bipartite;
  info.counts = {static_cast<std::uint64_t>(num_src), static_cast<std::uint64_t>(num_dst),
                 options.directed ? num_rows : 2 * num_rows, num_rows};
  const IdWidth id_width =
      id_width_for(std::max(info.counts.num_src_nodes, info.counts.num_dst_nodes));
  const IdWidth edge_id_width = id_width_for(num_rows);

  const bool wide = id_width == IdWidth::k8 || edge_id_width == IdWidth::k8;
  const bool with_out = options.out_index || !options.directed;
  const bool with_in = options.in_index && options.directed;
  const std::uint64_t largest_side =
      std::max(with_out ? info.counts.num_src_nodes : 0, with_in ? info.counts.num_dst_nodes : 0);
  require_memory(
      16 * std::min(largest_side, kTooManyNodes) + (wide ? 16 : 8) * info.counts.num_edges +
          (edges.weight ? sizeof(double) * num_weight_sums(info.counts.num_edges) : 0),
      concat(path, ": sorting ", num_rows, " edges over ", largest_side, " nodes in memory"));

  GlWriter writer(path);
  const auto add_index = [&](Direction direction, NodeId num_nodes) {
    with_id_type(wide ? IdWidth::k8 : IdWidth::k4, [&]<class Id>() {
      IndexBuilder<Id>(edges, !options.directed, direction, num_nodes)
          .write(writer, id_width, edge_id_width);
    });
  };
  if (with_out) add_index(Direction::kOut, num_src);
  if (with_in) add_index(Direction::kIn, num_dst);
  writer.finish(info);
}

}  // namespace gz
