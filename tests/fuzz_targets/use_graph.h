// All that the library does with a mounted .gl, on an input that may hold anything.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/sample/fanout.h"
#include "core/sample/mirror.h"
#include "core/sample/negative.h"
#include "core/sample/neighbor.h"
#include "core/store/adjacency.h"
#include "core/store/index_reader.h"
#include "core/store/neighbor_counts.h"
#include "core/store/topology.h"
#include "core/store/verify.h"
#include "core/walk/random_walk.h"
#include "tests/fuzz_targets/fuzz.h"

namespace gz::fuzz {

inline bool all_hold(const std::vector<Check>& checks) {
  return std::all_of(checks.begin(), checks.end(),
                     [](const Check& check) { return check.problem.empty(); });
}

inline std::vector<OnlySections::Range> sections_of(const GlLayout& layout) {
  std::vector<OnlySections::Range> ranges;
  const auto add = [&](const std::optional<ByteRange>& range) {
    if (range) ranges.push_back({range->offset, range->length});
  };
  for (const auto& index : {layout.out, layout.in}) {
    if (!index) continue;
    for (const auto& range : {std::optional(index->indptr), std::optional(index->indices),
                              index->edge_ids, index->weights, index->times, index->weight_sums})
      add(range);
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  return ranges;
}

class GraphUser {
 public:
  GraphUser(const Topology& graph, bool proven, std::uint64_t seed)
      : graph_(graph), proven_(proven), random_(seed) {}

  void run() {
    for (const Direction direction : {Direction::kOut, Direction::kIn}) {
      if (!graph_.has(direction)) continue;
      look(direction);
      walk(direction);
      fan_out(direction);
      // The options are many and inputs more: two of their combinations each.
      sample(direction);
      sample(direction);
      if (graph_.num_neighbor_nodes(direction) <= kManyNodes)
        attempt(proven_, [&] { neighbor_counts(graph_, direction); });
    }
    find_edges();
    draw_negatives();
  }

 private:
  // Beyond, a call may rightly take as much memory as there is.
  static constexpr NodeId kManyNodes = 1 << 20;
  static constexpr NodeId kSeeds = 24;

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool chance() { return below(2) == 0; }

  // The first nodes, and the last one.
  static std::vector<NodeId> some_of(NodeId count) {
    std::vector<NodeId> nodes;
    for (NodeId node = 0; node < std::min(count, kSeeds); ++node) nodes.push_back(node);
    if (count > kSeeds) nodes.push_back(count - 1);
    return nodes;
  }

  void require_nodes(std::span<const NodeId> nodes, NodeId count) const {
    for (const NodeId node : nodes) require(node >= 0 && node < count, "a node that is not there");
  }

  void look(Direction direction) {
    const auto nodes = some_of(graph_.num_nodes(direction));
    for (const NodeId node : nodes) {
      attempt(proven_, [&] { graph_.edges_of(direction, node); });
      const NodeId first = 0;
      attempt(proven_, [&] { lowest_edges(graph_, direction, {&node, 1}, {&first, 1}); });
    }
    std::vector<std::int64_t> degrees(nodes.size());
    attempt(proven_, [&] { graph_.degrees(direction, nodes, degrees); });
    attempt(proven_, [&] { check_index(graph_, direction); });
    attempt(proven_, [&] { graph_.weight_sums(direction); });
  }

  void walk(Direction direction) {
    const auto starts = some_of(graph_.num_nodes(direction));
    for (const bool weighted : {false, true}) {
      WalkOptions options;
      options.length = 6;
      options.p = chance() ? 1 : 0.25;
      options.q = chance() ? 1 : 4;
      options.restart = chance() ? 0 : 0.25;
      options.weighted = weighted;
      options.seed = random_();
      attempt(proven_, [&] {
        const Walks walks = random_walk(graph_, direction, starts, options);
        const NodeId most =
            std::max(graph_.num_nodes(direction), graph_.num_neighbor_nodes(direction));
        require_nodes(walks.nodes.span(), most);
      });
    }
    if (direction != Direction::kOut) return;
    WalkOptions options;
    options.length = 4;
    options.weighted = chance();
    options.seed = random_();
    const MetapathStep step = {&graph_, chance()};
    attempt(proven_, [&] { metapath_walk(std::span(&step, 1), starts, options); });
  }

  void fan_out(Direction direction) {
    const auto nodes = some_of(graph_.num_nodes(direction));
    const EdgeId fanout = 3;
    std::vector<NodeId> out(nodes.size() * static_cast<std::size_t>(fanout));
    std::vector<std::int64_t> counts(nodes.size());
    const NodeId count = graph_.num_neighbor_nodes(direction);
    attempt(proven_, [&] {
      sample_fanout(graph_, direction, nodes, fanout, count, random_(), out, counts);
      require_nodes(out, count + 1);  // with the padding
    });
  }

  void sample(Direction direction) {
    NeighborOptions options;
    options.num_hops = 2;
    options.direction = direction;
    options.replace = chance();
    options.disjoint = chance();
    options.temporal = options.disjoint && chance();
    options.last = options.temporal && !options.replace && chance();
    if (options.temporal && chance()) options.time_window = static_cast<std::int64_t>(below(10));
    options.labor = !options.replace && !options.last && chance();
    options.layer_dependency = options.labor && chance();
    options.subgraph =
        std::array{Subgraph::kDirectional, Subgraph::kBidirectional, Subgraph::kInduced}[below(3)];
    options.seed = random_();

    const bool one_type = !graph_.layout().bipartite;
    Relation relation;
    relation.graph = &graph_;
    relation.dst_type = one_type ? 0 : 1;
    for (std::size_t hop = 0; hop < options.num_hops; ++hop)
      relation.fanouts.push_back(std::array<EdgeId, 3>{-1, 2, 4}[below(3)]);
    relation.weighted = !options.last && chance();
    relation.timed = options.temporal && chance();
    if (one_type) relation.reverse = 0;

    const NodeId num_near = graph_.num_nodes(direction);
    const auto nodes = some_of(num_near);
    std::vector<std::int64_t> times;
    for (std::size_t i = 0; options.temporal && i < nodes.size(); ++i)
      times.push_back(static_cast<std::int64_t>(below(20)) - 4);
    const std::vector<NodeId> excluded_src(some_of(graph_.num_nodes(Direction::kOut)));
    std::vector<NodeId> excluded_dst(some_of(graph_.num_nodes(Direction::kIn)));
    excluded_dst.resize(excluded_src.size());
    if (graph_.num_nodes(Direction::kIn) > 0 && chance()) {
      relation.excluded = {excluded_src, excluded_dst, {}};
      options.exclude_reverse = one_type && chance();
    }

    std::vector<TypeSeeds> seeds(one_type ? 1 : 2);
    seeds[relation.src_type].num_nodes = graph_.num_nodes(Direction::kOut);
    seeds[relation.dst_type].num_nodes = graph_.num_nodes(Direction::kIn);
    TypeSeeds& near = seeds[near_type(relation, direction)];
    near.nodes = nodes;
    near.times = times;
    attempt(proven_, [&] {
      const Neighborhood sample = sample_neighbors(seeds, std::span(&relation, 1), options);
      for (std::size_t type = 0; type < seeds.size(); ++type)
        require_nodes(sample.types[type].nodes.span(), seeds[type].num_nodes);
      const SampledEdges& edges = sample.relations[0];
      const auto local = [&](std::size_t type) {
        return static_cast<NodeId>(sample.types[type].nodes.span().size());
      };
      require_nodes(edges.near.span(), local(near_type(relation, direction)));
      require_nodes(edges.far.span(), local(far_type(relation, direction)));
      require_nodes(edges.edges.span(), static_cast<EdgeId>(graph_.layout().num_input_edges));
    });
  }

  void find_edges() {
    const auto sources = some_of(graph_.num_nodes(Direction::kOut));
    const auto destinations = some_of(graph_.num_nodes(Direction::kIn));
    std::vector<NodeId> src, dst;
    for (const NodeId from : sources) {
      for (const NodeId to : destinations) {
        src.push_back(from);
        dst.push_back(to);
      }
    }
    attempt(proven_, [&] { has_edges(graph_, src, dst); });
  }

  void draw_negatives() {
    const NegativeEnds ends(graph_);
    NegativeOptions options;
    options.exclude_edges = chance();
    options.seed = random_();
    const auto sources = some_of(ends.num_src);
    // By degree, a table of all nodes is made.
    const bool few = std::max(ends.num_src, ends.num_dst) <= kManyNodes;
    if (few && chance()) options.src.by = options.dst.by = NegativeLaw::kDegree;
    attempt(proven_,
            [&] { require_nodes(sample_negatives(ends, sources, 3, options), ends.num_dst); });
    attempt(proven_, [&] {
      require_nodes(sample_shared_negatives(graph_, sources, 3, options), ends.num_dst);
    });
    attempt(proven_, [&] {
      const NodePairs pairs = sample_negative_pairs(ends, 8, options);
      require_nodes(pairs.src, ends.num_src);
      require_nodes(pairs.dst, ends.num_dst);
    });
  }

  const Topology& graph_;
  const bool proven_;
  std::mt19937_64 random_;
};

inline void use_graph(const std::string& path, std::uint64_t seed) {
  VerifyProgress progress;
  bool proven = false;
  attempt([&] { proven = all_hold(verify_graph(path, progress)); });
  std::optional<Topology> graph;
  if (!attempt(proven, [&] { graph.emplace(path); })) return;
  const OnlySections hidden(graph->mapping(), sections_of(graph->layout()));
  GraphUser(*graph, proven, seed).run();
}

}  // namespace gz::fuzz
