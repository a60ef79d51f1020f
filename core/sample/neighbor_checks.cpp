#include "core/sample/neighbor_checks.h"

#include <algorithm>
#include <stdexcept>

#include "core/base/error.h"
#include "core/sample/uniform_pick.h"

namespace gz {
namespace {

void check_relation(const Relation& relation, std::span<const TypeSeeds> seeds,
                    const NeighborOptions& options) {
  const Index& index = relation.graph->index(options.direction);
  if (relation.fanouts.size() != options.num_hops) {
    throw std::invalid_argument(concat("fanouts: expected ", options.num_hops,
                                       " hops for every edge type, found ",
                                       relation.fanouts.size()));
  }
  for (const EdgeId fanout : relation.fanouts) {
    if (fanout < kAllNeighbors) {
      throw std::invalid_argument(
          concat("fanouts: expected -1 for all neighbours, or a number, found ", fanout));
    }
  }
  if (options.exclude_reverse && !relation.excluded.src.empty() &&
      relation.src_type != relation.dst_type) {
    throw std::invalid_argument(
        concat(relation.graph->path(),
               ": joins two types of node, so its edges have no reverse in it; exclude the edges "
               "of the relation that holds them"));
  }
  if (options.subgraph == Subgraph::kBidirectional && !relation.reverse) {
    throw std::invalid_argument(
        concat(relation.graph->path(),
               ": no edge type holds the reverses of its edges: expected one from its destinations "
               "to its sources, or subgraph_type 'directional' or 'induced'"));
  }
  if (relation.weighted) relation.graph->weight_sums(options.direction);
  if (options.temporal && relation.timed &&
      seeds[far_type(relation, options.direction)].node_times.empty() &&
      index.times.data() == nullptr) {
    throw std::invalid_argument(concat(relation.graph->path(),
                                       ": has no times: expected a graph written with time=, or "
                                       "node_time="));
  }
}

}  // namespace

void check_arguments(std::span<const TypeSeeds> seeds, std::span<const Relation> relations,
                     const NeighborOptions& options) {
  const auto refuse_if = [](bool wrong, const char* message) {
    if (wrong) throw std::invalid_argument(message);
  };
  refuse_if(options.temporal && !options.disjoint, "temporal sampling is disjoint");
  refuse_if(options.last && !options.temporal,
            "temporal_strategy 'last': expected seed_time, found none: without it nothing is new");
  const bool weighted = std::any_of(relations.begin(), relations.end(),
                                    [](const Relation& relation) { return relation.weighted; });
  refuse_if(options.last && (options.replace || weighted || options.labor),
            "temporal_strategy 'last' takes the newest neighbours and draws nothing: it does not "
            "go with replace, weighted or labor");
  refuse_if(options.labor && options.replace,
            "method 'labor' picks without replacement: it does not go with replace");
  refuse_if(options.time_window && !options.temporal,
            "time_window: expected seed_time, found none: a window ends at the time of a seed");
  refuse_if(options.time_window && *options.time_window < 0,
            "time_window: expected a length that is not negative");
  for (const Relation& relation : relations) check_relation(relation, seeds, options);
  for (std::size_t t = 0; t < seeds.size(); ++t) {
    const TypeSeeds& type = seeds[t];
    if (options.temporal && type.times.size() != type.nodes.size()) {
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

}  // namespace gz
