#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>
#include <vector>

#include "bindings/arrays.h"
#include "bindings/bind.h"
#include "bindings/neighborhood.h"
#include "core/base/checked.h"
#include "core/sample/fanout.h"
#include "core/sample/neighbor.h"

namespace gz {

using namespace nb::literals;

namespace {

using Int64Array = InputArray<std::int64_t>;
using OptionalArray = std::optional<Int64Array>;

std::span<const std::int64_t> span_or_empty(const OptionalArray& array) {
  if (!array) return {};
  return as_span(*array);
}

// Seeds, their times, times of all nodes, number of nodes.
using SeedsIn = std::tuple<Int64Array, OptionalArray, OptionalArray, NodeId>;
// Graph, source type, destination type, fanouts, whether weighted, whether timed, reverse; excluded
// sources, destinations and edge ids.
using RelationIn =
    std::tuple<const Topology*, std::size_t, std::size_t, std::vector<EdgeId>, bool, bool,
               std::optional<std::size_t>, OptionalArray, OptionalArray, OptionalArray>;

void bind_neighbors(nb::module_& m) {
  nb::enum_<Subgraph>(m, "Subgraph")
      .value("DIRECTIONAL", Subgraph::kDirectional)
      .value("BIDIRECTIONAL", Subgraph::kBidirectional)
      .value("INDUCED", Subgraph::kInduced);

  nb::class_<NeighborOptions>(m, "NeighborOptions")
      .def(nb::init<>())
      .def_rw("num_hops", &NeighborOptions::num_hops)
      .def_rw("direction", &NeighborOptions::direction)
      .def_rw("replace", &NeighborOptions::replace)
      .def_rw("disjoint", &NeighborOptions::disjoint)
      .def_rw("temporal", &NeighborOptions::temporal)
      .def_rw("last", &NeighborOptions::last)
      .def_rw("time_window", &NeighborOptions::time_window)
      .def_rw("labor", &NeighborOptions::labor)
      .def_rw("layer_dependency", &NeighborOptions::layer_dependency)
      .def_rw("subgraph", &NeighborOptions::subgraph)
      .def_rw("exclude_reverse", &NeighborOptions::exclude_reverse)
      .def_rw("seed", &NeighborOptions::seed)
      .def_rw("epoch", &NeighborOptions::epoch)
      .def_rw("batch", &NeighborOptions::batch);

  m.def(
      "sample_neighbors",
      [](const std::vector<SeedsIn>& seeds_in, const std::vector<RelationIn>& relations_in,
         const NeighborOptions& options) {
        std::vector<TypeSeeds> seeds;
        for (const auto& [nodes, times, node_times, num_nodes] : seeds_in) {
          seeds.push_back(
              {as_span(nodes), span_or_empty(times), span_or_empty(node_times), num_nodes});
        }
        std::vector<Relation> relations;
        for (const auto& [graph, src_type, dst_type, fanouts, weighted, timed, reverse, src, dst,
                          edges] : relations_in) {
          relations.push_back({graph,
                               src_type,
                               dst_type,
                               fanouts,
                               weighted,
                               timed,
                               reverse,
                               {span_or_empty(src), span_or_empty(dst),
                                edges ? std::optional(as_span(*edges)) : std::nullopt}});
        }
        return to_python(without_gil([&] { return sample_neighbors(seeds, relations, options); }),
                         options.disjoint);
      },
      "seeds"_a, "relations"_a, "options"_a,
      nb::sig("def sample_neighbors(seeds: list[typing.Any], relations: list[typing.Any], options: "
              "NeighborOptions) -> tuple[list[typing.Any], list[typing.Any]]"));
}

void bind_fanout(nb::module_& m) {
  m.def(
      "sample_fanout",
      [](const Topology& graph, Direction direction, const NodeIdArray& nodes, EdgeId fanout,
         NodeId pad, std::uint64_t seed) {
        const auto items = checked_mul(nodes.size(), static_cast<std::uint64_t>(fanout));
        const auto bytes = checked_mul(items.value_or(~std::uint64_t{0}), sizeof(NodeId));
        require_memory(bytes.value_or(~std::uint64_t{0}),
                       concat("a fanout of ", fanout, " for ", nodes.size(), " nodes"));
        Buffer<NodeId> out;
        Buffer<std::int64_t> counts;
        out.extend(*items);
        counts.extend(nodes.size());
        without_gil([&] {
          sample_fanout(graph, direction, as_span(nodes), fanout, pad, seed,
                        {out.data(), out.size()}, {counts.data(), counts.size()});
        });
        return nb::make_tuple(owned_array(std::move(out)), owned_array(std::move(counts)));
      },
      "graph"_a, "direction"_a, "nodes"_a.noconvert(), "fanout"_a, "pad"_a, "seed"_a);
}

}  // namespace

void bind_sample(nb::module_& m) {
  bind_neighbors(m);
  bind_fanout(m);
}

}  // namespace gz
