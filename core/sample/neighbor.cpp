#include "core/sample/neighbor.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>

#include "core/base/dispatch.h"
#include "core/base/parallel.h"
#include "core/base/team.h"
#include "core/sample/frontier_draw.h"
#include "core/sample/labor_pick.h"
#include "core/sample/last_pick.h"
#include "core/sample/local_ids.h"
#include "core/sample/mirror.h"
#include "core/sample/neighbor_checks.h"
#include "core/sample/uniform_pick.h"
#include "core/sample/weighted_pick.h"

namespace gz {
namespace {

class Sampler {
 public:
  Sampler(std::span<const TypeSeeds> seeds, std::span<const Relation> relations,
          const NeighborOptions& options)
      : seeds_(seeds),
        relations_(relations),
        options_(options),
        key_(Key(options.seed, Purpose::kNeighbors).with(options.epoch).with(options.batch)),
        edges_(relations.size()) {
    for (const Relation& relation : relations_) {
      excluded_.emplace_back(*relation.graph, options_.direction, relation.excluded,
                             options_.exclude_reverse);
    }
    add_seeds();
  }

  Neighborhood sample() {
    with_team(num_members(), [&](Team& team) {
      team_ = &team;
      drawn_.resize(team.size());
      if (team.size() > 1) reserve_all();
      sample_edges();
    });
    for (const Relation& relation : relations_) relation.graph->mapping()->check_intact();
    Neighborhood result;
    result.relations = std::move(edges_);
    for (LocalIds& ids : ids_) result.types.push_back(ids.take());
    return result;
  }

 private:
  // Frontier nodes per task. Large enough that beginning one costs nothing beside it, small enough
  // that the second hop of an ordinary batch keeps several threads busy.
  static constexpr std::size_t kTask = 512;
  static constexpr std::size_t kSmallTask = 32;
  // Tasks per thread, so that all end together.
  static constexpr std::size_t kTasksEach = 4;
  // Draws that are worth another thread: it takes as long to wake one.
  static constexpr std::uint64_t kDrawsEach = 1024;
  // The word in the place of the hop, or of the relation, where one number serves all of them.
  static constexpr std::uint64_t kShared = ~std::uint64_t{0};

  void sample_edges() {
    std::vector<FrontierRange> frontiers(seeds_.size());
    for (std::size_t hop = 0; hop < options_.num_hops; ++hop) {
      for (std::size_t t = 0; t < seeds_.size(); ++t) {
        const std::size_t begin = frontiers[t].begin + frontiers[t].size;
        frontiers[t] = {&ids_[t].sampled(), begin, ids_[t].sampled().nodes.size() - begin};
      }
      for (std::size_t r = 0; r < relations_.size(); ++r) {
        const std::size_t before = edges_[r].edges.size();
        sample_hop(r, hop, frontiers[near(relations_[r])]);
        edges_[r].per_hop.push_back(static_cast<std::int64_t>(edges_[r].edges.size() - before));
      }
      for (LocalIds& ids : ids_) ids.end_hop();
    }
    if (options_.subgraph == Subgraph::kInduced) induce();
    if (options_.subgraph == Subgraph::kBidirectional) mirror_edges();
  }

  // About how many neighbours are drawn for a number of frontier nodes.
  std::uint64_t expected_draws(const Relation& relation, std::uint64_t num_nodes,
                               EdgeId fanout) const {
    const Topology& graph = *relation.graph;
    const auto lists = static_cast<std::uint64_t>(graph.num_nodes(options_.direction));
    const auto entries = static_cast<std::uint64_t>(graph.num_edges());
    const std::uint64_t per_node = entries / std::max<std::uint64_t>(lists, 1) + 1;
    const std::uint64_t wanted =
        fanout == kAllNeighbors ? per_node : std::min(static_cast<std::uint64_t>(fanout), kMost);
    return std::min(num_nodes, kMost) * std::min(wanted, kMost);
  }

  // About how many neighbours are drawn in each hop for each relation, if all of them are new.
  std::vector<std::vector<std::uint64_t>> expected_hops() const {
    std::vector<std::vector<std::uint64_t>> hops;
    std::vector<std::uint64_t> nodes;  // by type
    for (const LocalIds& ids : ids_) nodes.push_back(ids.sampled().nodes.size());
    for (std::size_t hop = 0; hop < options_.num_hops; ++hop) {
      std::vector<std::uint64_t> found(seeds_.size()), draws;
      for (const Relation& relation : relations_) {
        draws.push_back(expected_draws(relation, nodes[near(relation)], relation.fanouts[hop]));
        found[far(relation)] += draws.back();
      }
      hops.push_back(std::move(draws));
      nodes = std::move(found);
    }
    return hops;
  }

  // As many threads as the largest hop has work for.
  std::size_t num_members() const {
    std::uint64_t most = 0;
    for (const auto& hop : expected_hops()) {
      for (const std::uint64_t draws : hop) most = std::max(most, draws);
    }
    return static_cast<std::size_t>(
        std::clamp<std::uint64_t>(most / kDrawsEach, 1, usable_threads()));
  }

  std::size_t near(const Relation& relation) const {
    return near_type(relation, options_.direction);
  }
  std::size_t far(const Relation& relation) const { return far_type(relation, options_.direction); }
  bool is_limited_by_time(const Relation& relation) const {
    return options_.temporal && (relation.timed || !seeds_[far(relation)].node_times.empty());
  }

  void add_seeds() {
    std::uint64_t num_seeds = 0;
    for (const TypeSeeds& type : seeds_) num_seeds += type.nodes.size();
    std::int64_t tree = 0;
    for (const TypeSeeds& type : seeds_) {
      ids_.emplace_back(type.num_nodes, num_seeds, options_.disjoint);
      ids_.back().add_seeds(type.nodes, tree);
      tree += static_cast<std::int64_t>(type.nodes.size());
      seed_times_.insert(seed_times_.end(), type.times.begin(), type.times.end());
    }
  }

  Limits limits(std::size_t r) const {
    const Relation& relation = relations_[r];
    Limits limits;
    if (is_limited_by_time(relation)) {
      limits.time = {relation.graph->index(options_.direction).times,
                     seeds_[far(relation)].node_times, options_.time_window};
      limits.seed_times = seed_times_;
    }
    if (!excluded_[r].empty()) limits.excluded = &excluded_[r];
    return limits;
  }

  void sample_hop(std::size_t r, std::size_t hop, const FrontierRange& frontier) {
    const Relation& relation = relations_[r];
    const EdgeId fanout = relation.fanouts[hop];
    if (fanout == 0 || frontier.size == 0) return;
    const Topology& graph = *relation.graph;
    with_id_type(graph.layout().id_width, [&]<class Id>() {
      const IndexReader<Id> reader(graph, options_.direction);
      if (options_.labor) {
        const std::uint64_t layer = options_.layer_dependency ? kShared : hop;
        std::optional<WeightedDraw> weights;
        if (relation.weighted) weights.emplace(graph, options_.direction);
        const LaborPick<Id> pick(reader, options_.direction, weights,
                                 key_.with(layer).with(kShared).with(far(relation)));
        run(r, hop, frontier, reader, pick, fanout);
      } else if (options_.last && is_limited_by_time(relation)) {
        run(r, hop, frontier, reader, LastPick<Id>(reader, seeds_[far(relation)].node_times),
            fanout);
      } else if (relation.weighted) {
        run(r, hop, frontier, reader, WeightedPick(graph, options_.direction, options_.replace),
            fanout);
      } else {
        run(r, hop, frontier, reader, UniformPick(options_.replace), fanout);
      }
    });
  }

  // Stretches are drawn and their neighbours relabelled one after the other, or by the whole team:
  // the result is the same.
  template <class Id, class Pick>
  void run(std::size_t r, std::size_t hop, const FrontierRange& frontier,
           const IndexReader<Id>& reader, const Pick& pick, EdgeId fanout,
           bool only_known = false) {
    const Relation& relation = relations_[r];
    const Limits limits = this->limits(r);
    const Key key = key_.with(hop).with(r);
    const IndexReader<Id> entries =
        have_positions(relation, options_) ? reader.with_positions() : reader;
    const std::uint64_t expected = expected_draws(relation, frontier.size, fanout);
    const std::size_t threads = static_cast<std::size_t>(
        std::clamp<std::uint64_t>(expected / kDrawsEach, 1, team_->size()));
    const std::size_t wished = frontier.size / (threads * kTasksEach);
    const std::size_t task = threads == 1 ? kTask : std::clamp(wished, kSmallTask, kTask);
    LocalIds& ids = ids_[far(relation)];
    using Draw = FrontierDraw<Id, Pick>;
    std::vector<std::unique_ptr<Draw>> draws(team_->size());  // by member
    const auto draw = [&](const Frontier& view, std::size_t begin, std::size_t end,
                          std::size_t member) {
      if (!draws[member])
        draws[member] = std::make_unique<Draw>(reader, entries, pick, limits, fanout, key);
      Drawn& drawn = drawn_[member];
      DrawnPart part{begin, end - begin, &drawn, drawn.counts.size(), drawn.neighbors.size()};
      draws[member]->draw(view, begin, end, drawn);
      part.num_edges = drawn.neighbors.size() - part.first_edge;
      if (only_known) ids.keep_known(view, part, drawn);
      return part;
    };
    if (threads == 1) {
      if (!only_known && team_->size() == 1) reserve(r, expected);
      guarded(*reader.graph().mapping(), [&] {
        for (std::size_t begin = 0; begin < frontier.size; begin += task) {
          const std::size_t end = std::min(begin + task, frontier.size);
          drawn_[0].clear();
          ids.relabel(frontier, draw(frontier.view(), begin, end, 0), edges_[r]);
          check_interrupt();
        }
      });
      return;
    }
    // What was drawn waits until it is relabelled, so there is not too much of it at a time.
    const std::size_t at_once = std::max<std::size_t>(frontier.size / (expected / kMost + 1), task);
    for (std::size_t first = 0; first < frontier.size; first += at_once) {
      const std::size_t last = std::min(first + at_once, frontier.size);
      for (Drawn& drawn : drawn_) {
        drawn.clear();
        // Some more than its share. Powers of two: the next sample finds the same memory.
        drawn.reserve(
            std::bit_ceil((last - first) / threads * 5 / 4),
            std::bit_ceil(static_cast<std::size_t>(std::min(expected, kMost)) / threads * 5 / 4));
      }
      std::vector<DrawnPart> parts((last - first - 1) / task + 1);
      const Frontier view = frontier.view();
      guarded(*reader.graph().mapping(), [&] {
        team_->run(parts.size(), [&](std::size_t i, std::size_t member) {
          const std::size_t begin = first + i * task;
          parts[i] = draw(view, begin, std::min(begin + task, last), member);
        });
      });
      ids.relabel(frontier, parts, *team_, edges_[r]);
    }
  }

  // Room for some draws, so that results are not moved while they grow. Memory that is not written
  // to costs nothing.
  void reserve(std::size_t r, std::uint64_t expected) {
    const auto more = static_cast<std::size_t>(std::min(expected, kMost));
    SampledEdges& edges = edges_[r];
    edges.near.reserve(edges.near.size() + more);
    edges.far.reserve(edges.far.size() + more);
    edges.edges.reserve(edges.edges.size() + more);
    ids_[far(relations_[r])].reserve(more, *team_);
  }

  // For all hops at once: growing is work for one thread.
  void reserve_all() {
    const auto hops = expected_hops();
    for (std::size_t r = 0; r < relations_.size(); ++r) {
      std::uint64_t expected = 0;
      for (const auto& hop : hops) expected += hop[r];
      reserve(r, expected);
    }
  }

  // All edges between sampled nodes, by frontier node, in the order of its list.
  void induce() {
    for (std::size_t r = 0; r < relations_.size(); ++r) {
      edges_[r] = {};
      const Topology& graph = *relations_[r].graph;
      const SampledNodes& nodes = ids_[near(relations_[r])].sampled();
      const FrontierRange all{&nodes, 0, nodes.nodes.size()};
      with_id_type(graph.layout().id_width, [&]<class Id>() {
        run(r, options_.num_hops, all, IndexReader<Id>(graph, options_.direction),
            UniformPick(false), kAllNeighbors, /*only_known=*/true);
      });
    }
  }

  // A reverse in the same relation has the edge id of what it mirrors; in another relation it has
  // its own, and is left out if it does not exist there.
  void mirror_edges() {
    std::vector<SampledEdges> mirrored(relations_.size());
    for (std::size_t r = 0; r < relations_.size(); ++r) {
      const std::size_t of = *relations_[r].reverse;
      const SampledEdges& sampled = edges_[of];
      const std::vector<EdgeId> found =
          of == r ? std::vector<EdgeId>() : find_edges(r, sampled.far.span(), sampled.near.span());
      for (std::size_t i = 0; i < sampled.edges.size(); ++i) {
        const EdgeId edge = of == r ? sampled.edges[i] : found[i];
        if (edge < 0) continue;
        mirrored[r].near.push_back(sampled.far[i]);
        mirrored[r].far.push_back(sampled.near[i]);
        mirrored[r].edges.push_back(edge);
      }
    }
    for (std::size_t r = 0; r < relations_.size(); ++r) {
      SampledEdges& edges = edges_[r];
      append(mirrored[r].near, edges.near);
      append(mirrored[r].far, edges.far);
      append(mirrored[r].edges, edges.edges);
      keep_one_per_pair(edges);
    }
  }

  template <class Item>
  static void append(const Buffer<Item>& items, Buffer<Item>& out) {
    std::copy(items.begin(), items.end(), out.extend(items.size()));
  }

  // The edges of a relation between sampled nodes.
  std::vector<EdgeId> find_edges(std::size_t r, std::span<const std::int64_t> near_ids,
                                 std::span<const std::int64_t> far_ids) const {
    const Relation& relation = relations_[r];
    const auto nodes_of = [&](std::size_t type, std::span<const std::int64_t> local) {
      std::vector<NodeId> nodes;
      nodes.reserve(local.size());
      for (const std::int64_t id : local)
        nodes.push_back(ids_[type].sampled().nodes[static_cast<std::size_t>(id)]);
      return nodes;
    };
    return lowest_edges(*relation.graph, options_.direction, nodes_of(near(relation), near_ids),
                        nodes_of(far(relation), far_ids));
  }

  static constexpr std::uint64_t kMost = 1 << 20;  // beyond it, numbers of draws are all the same

  std::span<const TypeSeeds> seeds_;
  std::span<const Relation> relations_;
  const NeighborOptions& options_;
  Team* team_ = nullptr;
  Key key_;
  std::vector<ExcludedEdges> excluded_;
  std::vector<std::int64_t> seed_times_;  // by tree
  std::vector<LocalIds> ids_;             // by type
  std::vector<SampledEdges> edges_;       // by relation
  std::vector<Drawn> drawn_;              // by member of the team
};

}  // namespace

bool have_positions(const Relation& relation, const NeighborOptions& options) {
  return !relation.edge_ids && options.subgraph != Subgraph::kBidirectional &&
         relation.graph->index(options.direction).edge_ids != nullptr;
}

Neighborhood sample_neighbors(std::span<const TypeSeeds> seeds, std::span<const Relation> relations,
                              const NeighborOptions& options) {
  check_arguments(seeds, relations, options);
  return Sampler(seeds, relations, options).sample();
}

}  // namespace gz
