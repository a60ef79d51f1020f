#include "core/walk/random_walk.h"

#include <stdexcept>
#include <vector>

#include "core/base/checked.h"
#include "core/base/dispatch.h"
#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/store/index_reader.h"
#include "core/walk/engine.h"
#include "core/walk/node2vec.h"
#include "core/walk/uniform.h"
#include "core/walk/weighted.h"

namespace gz {
namespace {

// Beyond these products of biases and weights could overflow.
constexpr double kLeastBias = 1e-200;
constexpr double kMostBias = 1e200;

void check_bias(double value, const char* name) {
  if (!(value >= kLeastBias && value <= kMostBias)) {
    throw std::invalid_argument(
        concat(name, ": expected a number from 1e-200 to 1e200, found ", value));
  }
}

void check_options(const WalkOptions& options) {
  check_bias(options.p, "p");
  check_bias(options.q, "q");
  if (!(options.restart >= 0 && options.restart <= 1)) {
    throw std::invalid_argument(
        concat("restart: expected a probability from 0 to 1, found ", options.restart));
  }
}

// Neighbouring walks go to different threads, which would all fault on the same huge page; the
// kernel zeroes one for each of them and keeps one. Blocks that are used again have none to fault
// on, and are too small for this.
void touch(const Buffer<NodeId>& nodes) {
  constexpr std::size_t kHugePage = (2 << 20) / sizeof(NodeId);
  if (nodes.size() * sizeof(NodeId) <= kMostIdle) return;
  parallel_for(nodes.size() / kHugePage, [&](std::size_t page) { nodes[page * kHugePage] = 0; });
}

Walks make_room(std::size_t num_walks, std::uint64_t length) {
  const std::string job =
      concat("random_walk: ", num_walks, " walks of walk_length ", length, " at 8 bytes per node");
  const auto columns = checked_add(length, 1);
  const auto row_bytes = columns ? checked_mul(*columns, sizeof(NodeId)) : std::nullopt;
  const auto bytes = row_bytes ? checked_mul(*row_bytes, num_walks) : std::nullopt;
  if (!bytes) throw MemoryShortage(concat(job, ": more than 2^64 bytes"));
  require_memory(*bytes, job);
  Walks walks;
  walks.num_walks = num_walks;
  walks.num_columns = *columns;
  walks.nodes.extend(num_walks * walks.num_columns);
  touch(walks.nodes);
  return walks;
}

template <class Policy>
void run(Policy policy, std::span<const NodeId> starts, const WalkOptions& options,
         const Walks& walks) {
  const SameEveryStep<Policy> path(std::move(policy));
  Engine(path, starts, options, walks.nodes.data()).run();
}

// From an id width and options to a policy: here and nowhere else.
template <class Id>
void run(const Topology& graph, Direction direction, std::span<const NodeId> starts,
         const WalkOptions& options, const Walks& walks) {
  const bool first_order = options.p == 1 && options.q == 1;
  if (first_order && options.weighted) {
    run(Weighted<Id>(graph, direction), starts, options, walks);
  } else if (first_order) {
    run(Uniform<Id>(graph, direction), starts, options, walks);
  } else if (options.weighted) {
    run(Node2vec<Id, Weighted<Id>>(graph, direction, options.p, options.q), starts, options, walks);
  } else {
    run(Node2vec<Id, Uniform<Id>>(graph, direction, options.p, options.q), starts, options, walks);
  }
}

Metapath::AnyPolicy policy_of(const Topology& graph, bool weighted) {
  return with_id_type(graph.layout().id_width, [&]<class Id>() -> Metapath::AnyPolicy {
    if (weighted) return Weighted<Id>(graph, Direction::kOut);
    return Uniform<Id>(graph, Direction::kOut);
  });
}

// Where a step arrives the next one must be able to start.
void check_fit(const Topology& from, const Topology& to) {
  const NodeId arrive = from.num_neighbor_nodes(Direction::kOut);
  const NodeId leave = to.num_nodes(Direction::kOut);
  if (arrive > leave) {
    throw std::invalid_argument(concat("metapath: ", from.path(), " leads to ", arrive,
                                       " nodes, but ", to.path(), " has lists for only ", leave,
                                       "; write it with num_nodes=(", arrive, ", ...)"));
  }
}

}  // namespace

Walks random_walk(const Topology& graph, Direction direction, std::span<const NodeId> starts,
                  const WalkOptions& options) {
  check_options(options);
  if (graph.layout().bipartite) {
    throw std::invalid_argument(
        concat(graph.path(),
               ": is bipartite, so no two steps can follow each other; give a "
               "metapath that leads back"));
  }
  graph.index(direction);  // throws if it is not stored
  check_nodes(graph, starts, graph.num_nodes(direction), "start_nodes");
  Walks walks = make_room(starts.size(), options.length);
  guarded(*graph.mapping(), [&] {
    with_id_type(graph.layout().id_width,
                 [&]<class Id>() { run<Id>(graph, direction, starts, options, walks); });
  });
  return walks;
}

Walks metapath_walk(std::span<const MetapathStep> path, std::span<const NodeId> starts,
                    const WalkOptions& options) {
  check_options(options);
  if (options.p != 1 || options.q != 1) {
    throw std::invalid_argument(
        concat("p, q: expected 1 with a metapath, found p ", options.p, ", q ", options.q,
               ": two steps of a metapath have no edge type in common to compare neighbours by"));
  }
  if (path.empty()) throw std::invalid_argument("metapath: expected at least one edge type");
  std::vector<Metapath::Relation> relations;
  for (std::size_t i = 0; i < path.size(); ++i) {
    path[i].graph->mapping()->check_intact();
    relations.push_back({policy_of(*path[i].graph, options.weighted), path[i].leads_home});
    if (i + 1 < path.size()) check_fit(*path[i].graph, *path[i + 1].graph);
  }
  if (options.length > path.size()) check_fit(*path.back().graph, *path.front().graph);
  const Topology& first = *path.front().graph;
  check_nodes(first, starts, first.num_nodes(Direction::kOut), "start_nodes");
  Walks walks = make_room(starts.size(), options.length);
  const Metapath metapath(std::move(relations));
  Engine(metapath, starts, options, walks.nodes.data()).run();
  for (const MetapathStep& step : path) step.graph->mapping()->check_intact();
  return walks;
}

}  // namespace gz
