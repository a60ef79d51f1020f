// The nodes of one type in a sample, and the local ids they have in it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <variant>

#include "core/base/checked.h"
#include "core/base/error.h"
#include "core/base/types.h"
#include "core/sample/frontier_draw.h"
#include "core/sample/neighborhood.h"
#include "core/sample/node_table.h"

namespace gz {

// One thread at a time. In a disjoint sample a node has an id in every tree it is in.
class LocalIds {
 public:
  // Throws std::invalid_argument if there are more trees times nodes than keys.
  LocalIds(NodeId num_nodes, std::uint64_t num_seeds, bool disjoint)
      : num_nodes_(num_nodes), disjoint_(disjoint) {
    const std::uint64_t trees = disjoint ? num_seeds : 1;
    const auto keys = checked_mul(trees, static_cast<std::uint64_t>(num_nodes));
    if (!keys || *keys >= std::numeric_limits<std::int64_t>::max()) {
      throw std::invalid_argument(concat("disjoint: ", trees, " seeds times ", num_nodes,
                                         " nodes are too many to tell apart; use fewer seeds"));
    }
    if (*keys + num_seeds >= std::numeric_limits<std::uint32_t>::max()) table_.emplace<1>();
  }

  const SampledNodes& sampled() const { return sampled_; }
  SampledNodes take() { return std::move(sampled_); }

  // A seed keeps its place even where it is repeated: row i of the sample belongs to seed i. Trees
  // are numbered from `first_tree` on.
  void add_seeds(std::span<const NodeId> seeds, std::int64_t first_tree) {
    std::visit(
        [&]<class Word>(NodeTable<Word>& table) {
          table.reserve(seeds.size());
          for (const NodeId node : seeds) {
            const auto local = static_cast<std::int64_t>(sampled_.nodes.size());
            table.insert(key<Word>(first_tree + local, node), static_cast<Word>(local));
            sampled_.nodes.push_back(node);
            if (disjoint_) sampled_.trees.push_back(first_tree + local);
          }
        },
        table_);
    end_hop();
  }

  // Room for about as many nodes as `num_drawn` neighbours are. About half of what is drawn has
  // been seen before.
  void reserve(std::size_t num_drawn) {
    sampled_.nodes.reserve(sampled_.nodes.size() + num_drawn);
    std::visit([&](auto& table) { table.reserve(num_drawn / 2); }, table_);
  }

  // Gives every drawn neighbour its local id, a fresh one to those not seen before. `drawn` is what
  // the nodes of the frontier from `begin` on drew.
  void relabel(const Frontier& frontier, std::size_t begin, const Drawn& drawn, SampledEdges& out) {
    std::visit([&](auto& table) { relabel(table, frontier, begin, drawn, out); }, table_);
  }

  // Keeps the drawn edges that lead to nodes of the sample.
  void keep_known(const Frontier& frontier, std::size_t begin, const Drawn& drawn,
                  SampledEdges& out) const {
    std::visit([&](const auto& table) { keep_known(table, frontier, begin, drawn, out); }, table_);
  }

  // Counts the nodes that came since the last time.
  void end_hop() {
    const auto count = static_cast<std::int64_t>(sampled_.nodes.size());
    sampled_.per_hop.push_back(count - std::exchange(counted_, count));
  }

 private:
  // Slots of the table that are on their way at once.
  static constexpr std::size_t kAhead = 16;

  template <class Word>
  Word key(std::int64_t tree, NodeId node) const {
    return static_cast<Word>(disjoint_ ? tree * num_nodes_ + node : node);
  }

  template <class Word>
  void relabel(NodeTable<Word>& table, const Frontier& frontier, std::size_t begin,
               const Drawn& drawn, SampledEdges& out) {
    const std::size_t count = drawn.neighbors.size();
    table.reserve(count);
    std::size_t num_nodes = sampled_.nodes.size();
    NodeId* const nodes = sampled_.nodes.extend(count) - num_nodes;
    std::int64_t* const trees = disjoint_ ? sampled_.trees.extend(count) - num_nodes : nullptr;
    std::int64_t* const near = out.near.extend(count);
    std::int64_t* const far = out.far.extend(count);
    std::copy(drawn.edges.begin(), drawn.edges.end(), out.edges.extend(count));
    std::size_t j = 0;
    for (std::size_t i = 0; i < drawn.counts.size(); ++i) {
      const std::int64_t tree = disjoint_ ? frontier.trees[begin + i] : 0;
      const std::int64_t local = frontier.first_local + static_cast<std::int64_t>(begin + i);
      for (const std::size_t end = j + static_cast<std::size_t>(drawn.counts[i]); j < end; ++j) {
        // In a disjoint sample the tree of a neighbour further on may be another: no harm done.
        if (j + kAhead < count) table.expect(key<Word>(tree, drawn.neighbors[j + kAhead]));
        const auto fresh = static_cast<Word>(num_nodes);
        const Word found = table.insert(key<Word>(tree, drawn.neighbors[j]), fresh);
        nodes[num_nodes] = drawn.neighbors[j];
        if (trees != nullptr) trees[num_nodes] = tree;
        num_nodes += found == fresh;
        near[j] = local;
        far[j] = static_cast<std::int64_t>(found);
      }
    }
    sampled_.nodes.shrink(num_nodes);
    if (trees != nullptr) sampled_.trees.shrink(num_nodes);
  }

  template <class Word>
  void keep_known(const NodeTable<Word>& table, const Frontier& frontier, std::size_t begin,
                  const Drawn& drawn, SampledEdges& out) const {
    std::size_t j = 0;
    for (std::size_t i = 0; i < drawn.counts.size(); ++i) {
      const std::int64_t tree = disjoint_ ? frontier.trees[begin + i] : 0;
      for (const std::size_t end = j + static_cast<std::size_t>(drawn.counts[i]); j < end; ++j) {
        const Word found = table.find(key<Word>(tree, drawn.neighbors[j]));
        if (found == NodeTable<Word>::kNone) continue;
        out.near.push_back(frontier.first_local + static_cast<std::int64_t>(begin + i));
        out.far.push_back(static_cast<std::int64_t>(found));
        out.edges.push_back(drawn.edges[j]);
      }
    }
  }

  NodeId num_nodes_;
  bool disjoint_;
  // Tables of 4-byte words take half the cache; 8-byte ones hold any key.
  std::variant<NodeTable<std::uint32_t>, NodeTable<std::uint64_t>> table_;
  SampledNodes sampled_;
  std::int64_t counted_ = 0;
};

}  // namespace gz
