#include "core/sample/neighbor.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "core/base/dispatch.h"
#include "core/base/object_pool.h"
#include "core/base/ordered_gate.h"
#include "core/base/parallel.h"
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
    std::vector<std::int64_t> hop_begin(seeds_.size(), 0);
    for (std::size_t hop = 0; hop < options_.num_hops; ++hop) {
      std::vector<Frontier> frontiers(seeds_.size());
      for (std::size_t t = 0; t < seeds_.size(); ++t) frontiers[t] = frontier(t, hop_begin[t]);
      for (std::size_t r = 0; r < relations_.size(); ++r) {
        const std::size_t before = edges_[r].edges.size();
        sample_hop(r, hop, frontiers[near(relations_[r])]);
        edges_[r].per_hop.push_back(static_cast<std::int64_t>(edges_[r].edges.size() - before));
      }
      for (std::size_t t = 0; t < seeds_.size(); ++t) {
        hop_begin[t] += ids_[t].sampled().per_hop.back();
        ids_[t].end_hop();
      }
    }
    if (options_.subgraph == Subgraph::kInduced) induce();
    if (options_.subgraph == Subgraph::kBidirectional) mirror_edges();
    for (const Relation& relation : relations_) relation.graph->mapping()->check_intact();
    Neighborhood result;
    result.relations = std::move(edges_);
    for (LocalIds& ids : ids_) result.types.push_back(ids.take());
    return result;
  }

 private:
  // Frontier nodes per task. Large enough that passing the gate costs nothing beside it, small
  // enough that the second hop of an ordinary batch keeps several threads busy.
  static constexpr std::size_t kTask = 512;
  // The word in the place of the hop, or of the relation, where one number serves all of them.
  static constexpr std::uint64_t kShared = ~std::uint64_t{0};

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

  // A copy, because the list it is part of grows while it is read.
  Frontier frontier(std::size_t type, std::int64_t begin) const {
    const SampledNodes& sampled = ids_[type].sampled();
    Frontier frontier;
    frontier.nodes.assign(sampled.nodes.begin() + begin, sampled.nodes.end());
    if (options_.disjoint)
      frontier.trees.assign(sampled.trees.begin() + begin, sampled.trees.end());
    frontier.first_local = begin;
    return frontier;
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

  void sample_hop(std::size_t r, std::size_t hop, const Frontier& frontier) {
    const Relation& relation = relations_[r];
    const EdgeId fanout = relation.fanouts[hop];
    if (fanout == 0 || frontier.nodes.empty()) return;
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

  // Stretches are drawn on all threads and committed in order, so local ids do not depend on how
  // many there are.
  template <class Id, class Pick>
  void run(std::size_t r, std::size_t hop, const Frontier& frontier, const IndexReader<Id>& reader,
           const Pick& pick, EdgeId fanout, bool only_known = false) {
    using Draw = FrontierDraw<Id, Pick>;
    struct Worker {
      Draw draw;
      Drawn drawn;
    };
    const Limits limits = this->limits(r);
    const Key key = key_.with(hop).with(r);
    OrderedGate gate;
    ObjectPool<Worker> workers;
    if (!only_known) reserve(r, frontier.nodes.size(), fanout);
    guarded(*reader.graph().mapping(), [&] {
      parallel_chunks(frontier.nodes.size(), kTask, [&](std::size_t begin, std::size_t end) {
        const std::size_t task = begin / kTask;
        auto worker = workers.borrow([&] {
          return std::unique_ptr<Worker>(
              new Worker{Draw(reader, pick, limits, fanout, key), Drawn{}});
        });
        try {
          worker->drawn.clear();
          worker->draw.draw(frontier, begin, end, worker->drawn);
          gate.wait(task);
          if (only_known) {
            ids_[far(relations_[r])].keep_known(frontier, begin, worker->drawn, edges_[r]);
          } else {
            ids_[far(relations_[r])].relabel(frontier, begin, worker->drawn, edges_[r]);
          }
        } catch (...) {
          gate.abandon(task);
          throw;
        }
        gate.pass(task);
        workers.give_back(std::move(worker));
      });
    });
  }

  // Room for a hop of ordinary size, so that results are not moved while they grow. Memory that is
  // not written to costs nothing.
  void reserve(std::size_t r, std::size_t num_nodes, EdgeId fanout) {
    constexpr std::size_t kMost = 1 << 20;
    if (fanout == kAllNeighbors) return;
    const std::size_t per_node = std::min(static_cast<std::size_t>(fanout), kMost);
    const std::size_t more = std::min(num_nodes * per_node, kMost);
    SampledEdges& edges = edges_[r];
    edges.near.reserve(edges.near.size() + more);
    edges.far.reserve(edges.far.size() + more);
    edges.edges.reserve(edges.edges.size() + more);
    ids_[far(relations_[r])].reserve(more);
  }

  // All edges between sampled nodes, by frontier node, in the order of its list.
  void induce() {
    for (std::size_t r = 0; r < relations_.size(); ++r) {
      edges_[r] = {};
      const Topology& graph = *relations_[r].graph;
      const Frontier all = frontier(near(relations_[r]), 0);
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

  std::span<const TypeSeeds> seeds_;
  std::span<const Relation> relations_;
  const NeighborOptions& options_;
  Key key_;
  std::vector<ExcludedEdges> excluded_;
  std::vector<std::int64_t> seed_times_;  // by tree
  std::vector<LocalIds> ids_;             // by type
  std::vector<SampledEdges> edges_;       // by relation
};

}  // namespace

Neighborhood sample_neighbors(std::span<const TypeSeeds> seeds, std::span<const Relation> relations,
                              const NeighborOptions& options) {
  check_arguments(seeds, relations, options);
  return Sampler(seeds, relations, options).sample();
}

}  // namespace gz
