#include "core/sample/neighbor.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <variant>

#include "core/base/checked.h"
#include "core/base/dispatch.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/base/turnstile.h"
#include "core/sample/frontier_draw.h"
#include "core/sample/labor_pick.h"
#include "core/sample/last_pick.h"
#include "core/sample/mirror.h"
#include "core/sample/node_table.h"
#include "core/sample/uniform_pick.h"
#include "core/sample/weighted_pick.h"

namespace gz {
namespace {

// Tables of 4-byte words take half the cache; 8-byte ones hold any key.
using AnyTable = std::variant<NodeTable<std::uint32_t>, NodeTable<std::uint64_t>>;

// Things that threads borrow while they work, one each, made on demand.
template <class Item>
class Pool {
 public:
  template <class Make>
  std::unique_ptr<Item> borrow(const Make& make) {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto item = std::move(idle_.back());
        idle_.pop_back();
        return item;
      }
    }
    return make();
  }
  void give_back(std::unique_ptr<Item> item) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(item));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Item>> idle_;
};

class Sampler {
 public:
  Sampler(std::span<const TypeSeeds> seeds, std::span<const Relation> relations,
          const NeighborOptions& options)
      : seeds_(seeds),
        relations_(relations),
        options_(options),
        num_hops_(relations.empty() ? 0 : relations[0].fanouts.size()),
        key_(Key(options.seed, Purpose::kNeighbors).with(options.epoch).with(options.batch)) {
    check();
    for (const Relation& relation : relations_) {
      excluded_.emplace_back(*relation.graph, options_.direction, relation.excluded,
                             options_.exclude_reverse);
    }
    plant_seeds();
  }

  Neighborhood sample() {
    std::vector<std::int64_t> hop_begin(seeds_.size(), 0);
    for (std::size_t hop = 0; hop < num_hops_; ++hop) {
      std::vector<Frontier> frontiers(seeds_.size());
      for (std::size_t t = 0; t < seeds_.size(); ++t) frontiers[t] = frontier(t, hop_begin[t]);
      for (std::size_t r = 0; r < relations_.size(); ++r) {
        const std::size_t before = result_.relations[r].edges.size();
        sample_hop(r, hop, frontiers[near_type(relations_[r])]);
        result_.relations[r].per_hop.push_back(
            static_cast<std::int64_t>(result_.relations[r].edges.size() - before));
      }
      for (std::size_t t = 0; t < seeds_.size(); ++t) {
        hop_begin[t] += result_.types[t].per_hop.back();
        result_.types[t].per_hop.push_back(
            static_cast<std::int64_t>(result_.types[t].nodes.size()) - hop_begin[t]);
      }
    }
    if (options_.subgraph == Subgraph::kInduced) induce();
    if (options_.subgraph == Subgraph::kBidirectional) mirror_edges();
    for (const Relation& relation : relations_) relation.graph->mapping()->check_intact();
    return std::move(result_);
  }

 private:
  // Frontier nodes per task. Large enough that passing the turnstile costs nothing beside it, small
  // enough that the second hop of an ordinary batch keeps several threads busy.
  static constexpr std::size_t kTask = 512;
  // Slots of the table that are on their way at once.
  static constexpr std::size_t kAhead = 16;
  // The word in the place of the hop, or of the relation, where one number serves all of them.
  static constexpr std::uint64_t kShared = ~std::uint64_t{0};

  std::size_t near_type(const Relation& relation) const {
    return options_.direction == Direction::kIn ? relation.dst_type : relation.src_type;
  }
  std::size_t far_type(const Relation& relation) const {
    return options_.direction == Direction::kIn ? relation.src_type : relation.dst_type;
  }

  void check() const {
    const auto refuse_if = [](bool wrong, const char* message) {
      if (wrong) throw std::invalid_argument(message);
    };
    refuse_if(options_.temporal && !options_.disjoint, "temporal sampling is disjoint");
    refuse_if(
        options_.last && !options_.temporal,
        "temporal_strategy 'last': expected seed_time, found none: without it nothing is new");
    refuse_if(options_.last && (options_.replace || options_.weighted || options_.labor),
              "temporal_strategy 'last' takes the newest neighbours and draws nothing: it does not "
              "go with replace, weighted or labor");
    refuse_if(options_.labor && options_.replace,
              "method 'labor' picks without replacement: it does not go with replace");
    refuse_if(options_.time_window && !options_.temporal,
              "time_window: expected seed_time, found none: a window ends at the time of a seed");
    refuse_if(options_.time_window && *options_.time_window < 0,
              "time_window: expected a length that is not negative");
    for (const Relation& relation : relations_) check(relation);
    for (std::size_t t = 0; t < seeds_.size(); ++t) {
      const TypeSeeds& type = seeds_[t];
      if (options_.temporal && type.times.size() != type.nodes.size()) {
        throw std::invalid_argument(concat("seed_time: expected ", type.nodes.size(),
                                           " times, as many as there are seeds, found ",
                                           type.times.size()));
      }
      for (std::size_t i = 0; i < type.nodes.size(); ++i) {
        if (type.nodes[i] >= 0 && type.nodes[i] < type.num_nodes) continue;
        throw std::out_of_range(concat("seed ", type.nodes[i], " at position ", i,
                                       " is not a node: the graph has ", type.num_nodes,
                                       " nodes (0 to ", type.num_nodes - 1, ")"));
      }
    }
  }

  void check(const Relation& relation) const {
    const Index& index = relation.graph->index(options_.direction);
    if (relation.fanouts.size() != num_hops_) {
      throw std::invalid_argument(concat("fanouts: expected ", num_hops_,
                                         " hops for every edge type, found ",
                                         relation.fanouts.size()));
    }
    for (const EdgeId fanout : relation.fanouts) {
      if (fanout < kAllNeighbors) {
        throw std::invalid_argument(
            concat("fanouts: expected -1 for all neighbours, or a number, found ", fanout));
      }
    }
    if (options_.exclude_reverse && !relation.excluded.src.empty() &&
        relation.src_type != relation.dst_type) {
      throw std::invalid_argument(
          concat(relation.graph->path(),
                 ": joins two types of node, so its edges have no reverse in it; exclude the edges "
                 "of the relation that holds them"));
    }
    if (options_.subgraph == Subgraph::kBidirectional && !relation.reverse) {
      throw std::invalid_argument(concat(
          relation.graph->path(),
          ": no edge type holds the reverses of its edges: expected one from its destinations "
          "to its sources, or subgraph_type 'directional' or 'induced'"));
    }
    if (options_.weighted) relation.graph->weight_sums(options_.direction);
    if (options_.temporal && seeds_[far_type(relation)].node_times.empty() &&
        index.times.data() == nullptr) {
      throw std::invalid_argument(concat(relation.graph->path(),
                                         ": has no times: expected a graph written with time=, or "
                                         "node_time="));
    }
  }

  // A seed keeps its place even where it is repeated: row i of the sample belongs to seed i.
  void plant_seeds() {
    result_.types.resize(seeds_.size());
    result_.relations.resize(relations_.size());
    std::uint64_t num_seeds = 0;
    for (const TypeSeeds& type : seeds_) num_seeds += type.nodes.size();
    std::int64_t tree = 0;
    for (std::size_t t = 0; t < seeds_.size(); ++t) {
      const TypeSeeds& type = seeds_[t];
      SampledNodes& out = result_.types[t];
      const std::uint64_t trees = options_.disjoint ? num_seeds : 1;
      const auto keys = checked_mul(trees, static_cast<std::uint64_t>(type.num_nodes));
      if (!keys || *keys >= std::numeric_limits<std::int64_t>::max()) {
        throw std::invalid_argument(concat("disjoint: ", trees, " seeds times ", type.num_nodes,
                                           " nodes are too many to tell apart; use fewer seeds"));
      }
      const auto narrow = std::uint64_t{std::numeric_limits<std::uint32_t>::max()};
      if (*keys + num_seeds < narrow) {
        tables_.emplace_back(std::in_place_index<0>);
      } else {
        tables_.emplace_back(std::in_place_index<1>);
      }
      std::visit(
          [&]<class Word>(NodeTable<Word>& table) {
            table.reserve(type.nodes.size());
            for (const NodeId node : type.nodes) {
              table.insert(key<Word>(t, tree, node), static_cast<Word>(out.nodes.size()));
              out.nodes.push_back(node);
              if (options_.disjoint) out.trees.push_back(tree++);
            }
          },
          tables_[t]);
      seed_times_.insert(seed_times_.end(), type.times.begin(), type.times.end());
      out.per_hop.push_back(static_cast<std::int64_t>(type.nodes.size()));
    }
  }

  template <class Word>
  Word key(std::size_t type, std::int64_t tree, NodeId node) const {
    return static_cast<Word>(options_.disjoint ? tree * seeds_[type].num_nodes + node : node);
  }

  // A copy, because the list it is part of grows while it is read.
  Frontier frontier(std::size_t type, std::int64_t begin) const {
    const SampledNodes& sampled = result_.types[type];
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
    if (options_.temporal) {
      limits.time = {relation.graph->index(options_.direction).times,
                     seeds_[far_type(relation)].node_times, options_.time_window};
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
        if (options_.weighted) weights.emplace(graph, options_.direction);
        const LaborPick<Id> pick(reader, options_.direction, weights,
                                 key_.with(layer).with(kShared).with(far_type(relation)));
        run(r, hop, frontier, reader, pick, fanout);
      } else if (options_.last) {
        run(r, hop, frontier, reader, LastPick<Id>(reader, seeds_[far_type(relation)].node_times),
            fanout);
      } else if (options_.weighted) {
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
    Turnstile turnstile;
    Pool<Worker> workers;
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
          turnstile.wait(task);
          commit(r, frontier, begin, worker->drawn, only_known);
        } catch (...) {
          turnstile.abandon(task);
          throw;
        }
        turnstile.pass(task);
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
    SampledEdges& edges = result_.relations[r];
    SampledNodes& nodes = result_.types[far_type(relations_[r])];
    edges.near.reserve(edges.near.size() + more);
    edges.far.reserve(edges.far.size() + more);
    edges.edges.reserve(edges.edges.size() + more);
    nodes.nodes.reserve(nodes.nodes.size() + more);
    // About half of what is drawn has been seen before.
    std::visit([&](auto& table) { table.reserve(more / 2); }, tables_[far_type(relations_[r])]);
  }

  void commit(std::size_t r, const Frontier& frontier, std::size_t begin, const Drawn& drawn,
              bool only_known) {
    const std::size_t type = far_type(relations_[r]);
    std::visit(
        [&](auto& table) {
          if (only_known) {
            find_known(type, table, frontier, begin, drawn, result_.relations[r]);
          } else {
            relabel(type, table, frontier, begin, drawn, result_.relations[r]);
          }
        },
        tables_[type]);
  }

  // Gives every drawn neighbour its local id, a fresh one to those not seen before.
  template <class Word>
  void relabel(std::size_t type, NodeTable<Word>& table, const Frontier& frontier,
               std::size_t begin, const Drawn& drawn, SampledEdges& out) {
    const std::size_t count = drawn.neighbors.size();
    SampledNodes& sampled = result_.types[type];
    table.reserve(count);
    std::size_t num_nodes = sampled.nodes.size();
    NodeId* const nodes = sampled.nodes.extend(count) - num_nodes;
    std::int64_t* const trees =
        options_.disjoint ? sampled.trees.extend(count) - num_nodes : nullptr;
    std::int64_t* const near = out.near.extend(count);
    std::int64_t* const far = out.far.extend(count);
    std::copy(drawn.edges.begin(), drawn.edges.end(), out.edges.extend(count));
    std::size_t j = 0;
    for (std::size_t i = 0; i < drawn.counts.size(); ++i) {
      const std::int64_t tree = options_.disjoint ? frontier.trees[begin + i] : 0;
      const std::int64_t local = frontier.first_local + static_cast<std::int64_t>(begin + i);
      for (const std::size_t end = j + static_cast<std::size_t>(drawn.counts[i]); j < end; ++j) {
        // In a disjoint sample the tree of a neighbour further on may be another: no harm done.
        if (j + kAhead < count) table.expect(key<Word>(type, tree, drawn.neighbors[j + kAhead]));
        const auto fresh = static_cast<Word>(num_nodes);
        const Word found = table.insert(key<Word>(type, tree, drawn.neighbors[j]), fresh);
        nodes[num_nodes] = drawn.neighbors[j];
        if (trees != nullptr) trees[num_nodes] = tree;
        num_nodes += found == fresh;
        near[j] = local;
        far[j] = static_cast<std::int64_t>(found);
      }
    }
    sampled.nodes.shrink(num_nodes);
    if (trees != nullptr) sampled.trees.shrink(num_nodes);
  }

  // Keeps the drawn edges that lead to nodes of the sample.
  template <class Word>
  void find_known(std::size_t type, const NodeTable<Word>& table, const Frontier& frontier,
                  std::size_t begin, const Drawn& drawn, SampledEdges& out) const {
    std::size_t j = 0;
    for (std::size_t i = 0; i < drawn.counts.size(); ++i) {
      const std::int64_t tree = options_.disjoint ? frontier.trees[begin + i] : 0;
      for (const std::size_t end = j + static_cast<std::size_t>(drawn.counts[i]); j < end; ++j) {
        const Word found = table.find(key<Word>(type, tree, drawn.neighbors[j]));
        if (found == NodeTable<Word>::kNone) continue;
        out.near.push_back(frontier.first_local + static_cast<std::int64_t>(begin + i));
        out.far.push_back(static_cast<std::int64_t>(found));
        out.edges.push_back(drawn.edges[j]);
      }
    }
  }

  // All edges between sampled nodes, by frontier node, in the order of its list.
  void induce() {
    for (std::size_t r = 0; r < relations_.size(); ++r) {
      result_.relations[r] = {};
      const Topology& graph = *relations_[r].graph;
      const Frontier all = frontier(near_type(relations_[r]), 0);
      with_id_type(graph.layout().id_width, [&]<class Id>() {
        run(r, num_hops_, all, IndexReader<Id>(graph, options_.direction), UniformPick(false),
            kAllNeighbors, /*only_known=*/true);
      });
    }
  }

  // A reverse in the same relation has the edge id of what it mirrors; in another relation it has
  // its own, and is left out if it does not exist there.
  void mirror_edges() {
    std::vector<SampledEdges> mirrored(relations_.size());
    for (std::size_t r = 0; r < relations_.size(); ++r) {
      const std::size_t of = *relations_[r].reverse;
      const SampledEdges& sampled = result_.relations[of];
      for (std::size_t i = 0; i < sampled.edges.size(); ++i) {
        const EdgeId edge =
            of == r ? sampled.edges[i] : find_edge(r, sampled.far[i], sampled.near[i]);
        if (edge < 0) continue;
        mirrored[r].near.push_back(sampled.far[i]);
        mirrored[r].far.push_back(sampled.near[i]);
        mirrored[r].edges.push_back(edge);
      }
    }
    for (std::size_t r = 0; r < relations_.size(); ++r) {
      SampledEdges& edges = result_.relations[r];
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

  // The edge of a relation between two sampled nodes.
  EdgeId find_edge(std::size_t r, std::int64_t near, std::int64_t far) const {
    const Relation& relation = relations_[r];
    const auto node_of = [&](std::size_t type, std::int64_t local) {
      return result_.types[type].nodes[static_cast<std::size_t>(local)];
    };
    return lowest_edge(*relation.graph, options_.direction, node_of(near_type(relation), near),
                       node_of(far_type(relation), far));
  }

  std::span<const TypeSeeds> seeds_;
  std::span<const Relation> relations_;
  const NeighborOptions& options_;
  std::size_t num_hops_;
  Key key_;
  std::vector<ExcludedEdges> excluded_;
  std::vector<std::int64_t> seed_times_;  // by tree
  std::vector<AnyTable> tables_;          // by type
  Neighborhood result_;
};

}  // namespace

Neighborhood sample_neighbors(std::span<const TypeSeeds> seeds, std::span<const Relation> relations,
                              const NeighborOptions& options) {
  return Sampler(seeds, relations, options).sample();
}

}  // namespace gz
