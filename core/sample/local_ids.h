// The nodes of one type in a sample, and the local ids they have in it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/checked.h"
#include "core/base/error.h"
#include "core/base/team.h"
#include "core/base/types.h"
#include "core/sample/frontier_draw.h"
#include "core/sample/neighborhood.h"
#include "core/sample/node_table.h"

namespace gz {

// What one stretch of the frontier drew, among what others did.
struct DrawnPart {
  std::size_t begin = 0;  // in the frontier
  std::size_t num_nodes = 0;
  const Drawn* drawn = nullptr;
  std::size_t first_count = 0;  // in `drawn`
  std::size_t first_edge = 0;
  std::size_t num_edges = 0;

  std::int64_t count(std::size_t i) const { return drawn->counts[first_count + i]; }
  const NodeId* neighbors() const { return drawn->neighbors.data() + first_edge; }
  const EdgeId* edges() const { return drawn->edges.data() + first_edge; }
};

// Nodes of a sample that grows meanwhile.
struct FrontierRange {
  const SampledNodes* of = nullptr;
  std::size_t begin = 0;
  std::size_t size = 0;

  // Valid until the sample grows.
  Frontier view() const {
    Frontier frontier{of->nodes.span().subspan(begin, size), {}, static_cast<std::int64_t>(begin)};
    if (!of->trees.empty()) frontier.trees = of->trees.span().subspan(begin, size);
    return frontier;
  }
};

// In a disjoint sample a node has an id in every tree it is in.
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
  void reserve(std::size_t num_drawn, Team& team) {
    sampled_.nodes.reserve(sampled_.nodes.size() + num_drawn);
    const std::size_t most = std::min(num_drawn / 2, static_cast<std::size_t>(num_nodes_));
    std::visit([&](auto& table) { table.reserve(disjoint_ ? num_drawn / 2 : most, team); }, table_);
  }

  // Gives every drawn neighbour its local id, a fresh one to those not seen before, in the order of
  // the frontier.
  void relabel(const FrontierRange& frontier, const DrawnPart& part, SampledEdges& out) {
    std::visit([&](auto& table) { relabel(table, frontier, part, out); }, table_);
  }
  // The same for parts that follow each other, by a team.
  void relabel(const FrontierRange& frontier, std::span<const DrawnPart> parts, Team& team,
               SampledEdges& out) {
    std::visit([&](auto& table) { relabel(table, frontier, parts, team, out); }, table_);
  }

  // Drops what leads to no node of the sample from what a part, the last one of `drawn`, drew. Safe
  // on many threads.
  void keep_known(const Frontier& frontier, DrawnPart& part, Drawn& drawn) const {
    std::visit([&](const auto& table) { keep_known(table, frontier, part, drawn); }, table_);
  }

  // Counts the nodes that came since the last time.
  void end_hop() {
    const auto count = static_cast<std::int64_t>(sampled_.nodes.size());
    sampled_.per_hop.push_back(count - std::exchange(counted_, count));
  }

 private:
  // Slots of the table that are on their way at once.
  static constexpr std::size_t kAhead = 16;
  // Edges that are looked at before some of them are settled.
  static constexpr std::size_t kAtOnce = 256;

  template <class Word>
  Word key(std::int64_t tree, NodeId node) const {
    return static_cast<Word>(disjoint_ ? tree * num_nodes_ + node : node);
  }

  // Calls body(j, tree, local id of the frontier node) for each drawn edge of a part.
  template <class Body>
  [[gnu::always_inline]] void for_each_edge(const Frontier& frontier, const DrawnPart& part,
                                            Body&& body) const {
    std::size_t j = 0;
    for (std::size_t i = 0; i < part.num_nodes; ++i) {
      const std::int64_t tree = disjoint_ ? frontier.trees[part.begin + i] : 0;
      const std::int64_t near = frontier.first_local + static_cast<std::int64_t>(part.begin + i);
      for (const std::size_t end = j + static_cast<std::size_t>(part.count(i)); j < end; ++j)
        body(j, tree, near);
    }
  }

  template <class Word>
  void relabel(NodeTable<Word>& table, const FrontierRange& range, const DrawnPart& part,
               SampledEdges& out) {
    const std::size_t count = part.num_edges;
    const NodeId* const neighbors = part.neighbors();
    table.reserve(count);
    std::size_t num_nodes = sampled_.nodes.size();
    NodeId* const nodes = sampled_.nodes.extend(count) - num_nodes;
    std::int64_t* const trees = disjoint_ ? sampled_.trees.extend(count) - num_nodes : nullptr;
    std::int64_t* const near_ids = out.near.extend(count);
    std::int64_t* const far_ids = out.far.extend(count);
    std::copy_n(part.edges(), count, out.edges.extend(count));
    for_each_edge(range.view(), part, [&](std::size_t j, std::int64_t tree, std::int64_t near) {
      // In a disjoint sample the tree of a neighbour further on may be another: no harm done.
      if (j + kAhead < count) table.expect(key<Word>(tree, neighbors[j + kAhead]));
      const auto fresh = static_cast<Word>(num_nodes);
      const Word found = table.insert(key<Word>(tree, neighbors[j]), fresh);
      nodes[num_nodes] = neighbors[j];
      if (trees != nullptr) trees[num_nodes] = tree;
      num_nodes += found == fresh;
      near_ids[j] = near;
      far_ids[j] = static_cast<std::int64_t>(found);
    });
    sampled_.nodes.shrink(num_nodes);
    if (trees != nullptr) sampled_.trees.shrink(num_nodes);
  }

  // A node belongs to the lowest place in the hop where it was drawn, whoever finds it first; new
  // ones are numbered by these places. `far` holds slots of the table on the way.
  template <class Word>
  void relabel(NodeTable<Word>& table, const FrontierRange& range, std::span<const DrawnPart> parts,
               Team& team, SampledEdges& out) {
    std::vector<std::size_t> edge_begin(parts.size() + 1), node_begin(parts.size() + 1);
    for (std::size_t p = 0; p < parts.size(); ++p)
      edge_begin[p + 1] = edge_begin[p] + parts[p].num_edges;
    const std::size_t count = edge_begin.back();
    if (sampled_.nodes.size() + count >= NodeTable<Word>::kMostClaims) {
      for (const DrawnPart& part : parts) relabel(table, range, part, out);
      return;
    }
    table.reserve(count, team);
    std::int64_t* const near_ids = out.near.extend(count);
    std::int64_t* const far_ids = out.far.extend(count);
    EdgeId* const edges = out.edges.extend(count);
    // New nodes of each part.
    const auto add_new = [&](std::size_t p, std::size_t added) {
      std::atomic_ref(node_begin[p + 1]).fetch_add(added, std::memory_order_relaxed);
    };
    const auto displaced = [&](Word position) {
      const auto behind = std::upper_bound(edge_begin.begin(), edge_begin.end(), position);
      add_new(static_cast<std::size_t>(behind - edge_begin.begin()) - 1, ~std::size_t{0});
    };
    const Frontier frontier = range.view();
    team.run(parts.size(), [&](std::size_t p, std::size_t) {
      const DrawnPart& part = parts[p];
      const NodeId* const neighbors = part.neighbors();
      const std::size_t first = edge_begin[p];
      std::size_t num_new = 0;
      std::copy_n(part.edges(), part.num_edges, edges + first);
      for_each_edge(frontier, part, [&](std::size_t j, std::int64_t tree, std::int64_t near) {
        if (j + kAhead < part.num_edges) table.expect(key<Word>(tree, neighbors[j + kAhead]));
        near_ids[first + j] = near;
        const std::size_t slot = table.claim(key<Word>(tree, neighbors[j]),
                                             static_cast<Word>(first + j), num_new, displaced);
        far_ids[first + j] = static_cast<std::int64_t>(slot);
      });
      add_new(p, num_new);
    });
    node_begin[0] = sampled_.nodes.size();
    for (std::size_t p = 0; p < parts.size(); ++p) node_begin[p + 1] += node_begin[p];
    const std::size_t num_new = node_begin.back() - node_begin[0];
    NodeId* const nodes = sampled_.nodes.extend(num_new) - node_begin[0];
    std::int64_t* const trees =
        disjoint_ ? sampled_.trees.extend(num_new) - node_begin[0] : nullptr;
    const auto slot_at = [&](std::size_t at) { return static_cast<std::size_t>(far_ids[at]); };
    const Frontier moved = range.view();
    team.run(parts.size(), [&](std::size_t p, std::size_t) {
      const std::size_t end = edge_begin[p + 1];
      std::size_t next = node_begin[p];
      for (std::size_t at = edge_begin[p]; at < end;) {
        // Which of them are new cannot be predicted, so they are set apart without a branch.
        std::array<std::size_t, kAtOnce> fresh;
        std::size_t num_fresh = 0;
        for (const std::size_t stop = std::min(end, at + kAtOnce); at < stop; ++at) {
          if (at + kAhead < end) table.expect_slot(slot_at(at + kAhead));
          fresh[num_fresh] = at;
          num_fresh += table.has(slot_at(at), static_cast<Word>(at));
        }
        for (std::size_t i = 0; i < num_fresh; ++i, ++next) {
          table.settle(slot_at(fresh[i]), static_cast<Word>(next));
          nodes[next] = parts[p].neighbors()[fresh[i] - edge_begin[p]];
          if (trees != nullptr) {
            const std::int64_t near = near_ids[fresh[i]] - moved.first_local;
            trees[next] = moved.trees[static_cast<std::size_t>(near)];
          }
        }
      }
    });
    team.run(parts.size(), [&](std::size_t p, std::size_t) {
      for (std::size_t at = edge_begin[p]; at < edge_begin[p + 1]; ++at) {
        if (at + kAhead < edge_begin[p + 1]) table.expect_slot(slot_at(at + kAhead));
        far_ids[at] = static_cast<std::int64_t>(table.local(slot_at(at)));
      }
    });
    table.add_settled(num_new);
  }

  template <class Word>
  void keep_known(const NodeTable<Word>& table, const Frontier& frontier, DrawnPart& part,
                  Drawn& drawn) const {
    std::size_t kept = part.first_edge;
    std::size_t j = part.first_edge;
    for (std::size_t i = 0; i < part.num_nodes; ++i) {
      const std::int64_t tree = disjoint_ ? frontier.trees[part.begin + i] : 0;
      std::int64_t& count = drawn.counts[part.first_count + i];
      for (const std::size_t end = j + static_cast<std::size_t>(std::exchange(count, 0)); j < end;
           ++j) {
        if (table.find(key<Word>(tree, drawn.neighbors[j])) == NodeTable<Word>::kNone) continue;
        drawn.neighbors[kept] = drawn.neighbors[j];
        drawn.edges[kept] = drawn.edges[j];
        ++kept;
        ++count;
      }
    }
    drawn.neighbors.shrink(kept);
    drawn.edges.shrink(kept);
    part.num_edges = kept - part.first_edge;
  }

  NodeId num_nodes_;
  bool disjoint_;
  // Tables of 4-byte words take half the cache; 8-byte ones hold any key.
  std::variant<NodeTable<std::uint32_t>, NodeTable<std::uint64_t>> table_;
  SampledNodes sampled_;
  std::int64_t counted_ = 0;
};

}  // namespace gz
