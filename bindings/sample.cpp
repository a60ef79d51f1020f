#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bindings/arrays.h"
#include "bindings/bind.h"
#include "bindings/sampling_structs.h"
#include "core/base/checked.h"
#include "core/sample/fanout.h"
#include "core/sample/neighbor.h"

namespace gz {

using namespace nb::literals;

namespace {

std::vector<NodesOut> nodes_of(Neighborhood& hood, bool disjoint) {
  std::vector<NodesOut> result;
  for (SampledNodes& type : hood.types) {
    const nb::object trees =
        disjoint ? nb::cast(owned_array(std::move(type.trees))) : nb::object(nb::none());
    result.push_back({nb::cast(owned_array(std::move(type.nodes))),
                      trees,
                      {type.per_hop.begin(), type.per_hop.end()}});
  }
  return result;
}

std::vector<EdgesOut> edges_of(Neighborhood& hood, std::span<const Relation> relations,
                               const NeighborOptions& options) {
  std::vector<EdgesOut> result;
  for (std::size_t r = 0; r < relations.size(); ++r) {
    SampledEdges& edges = hood.relations[r];
    nb::object src = nb::cast(owned_array(std::move(edges.near)));
    nb::object dst = nb::cast(owned_array(std::move(edges.far)));
    if (options.direction == Direction::kIn) std::swap(src, dst);
    result.push_back({src,
                      dst,
                      nb::none(),
                      {edges.per_hop.begin(), edges.per_hop.end()},
                      nb::cast(owned_array(std::move(edges.edges))),
                      graph_of_ids(relations[r], options),
                      options.direction});
  }
  return result;
}

void bind_structs(nb::module_& m) {
  nb::class_<NodeTypeIn>(m, "NodeType")
      .def(nb::init<NodeId, OptionalArray>(), "num_nodes"_a, "times"_a.none());
  nb::class_<NodeSeedsIn>(m, "NodeSeeds")
      .def(nb::init<std::size_t, OptionalArray, OptionalArray>(), "type"_a, "ids"_a.none(),
           "times"_a.none());
  nb::class_<RelationIn>(m, "Relation")
      .def(nb::init<const Topology*, std::size_t, std::size_t, std::vector<EdgeId>, bool, bool,
                    std::optional<std::size_t>, OptionalArray, OptionalArray, OptionalArray>(),
           "graph"_a, "src_type"_a, "dst_type"_a, "fanouts"_a, "weighted"_a, "timed"_a,
           "reverse"_a.none(), "excluded_src"_a.none() = nb::none(),
           "excluded_dst"_a.none() = nb::none(), "excluded_ids"_a.none() = nb::none(),
           nb::keep_alive<1, 2>());
  const auto ids = nb::sig("def ids(self) -> numpy.typing.NDArray[numpy.int64]");
  nb::class_<NodesOut>(m, "SampledNodes")
      .def_prop_ro(
          "ids", [](const NodesOut& nodes) { return nodes.ids; }, ids)
      .def_prop_ro(
          "trees", [](const NodesOut& nodes) { return nodes.trees; },
          nb::sig("def trees(self) -> numpy.typing.NDArray[numpy.int64] | None"))
      .def_ro("per_hop", &NodesOut::per_hop);
  nb::class_<EdgesOut>(m, "SampledEdges")
      .def_prop_ro(
          "src", [](const EdgesOut& edges) { return edges.src; },
          nb::sig("def src(self) -> numpy.typing.NDArray[numpy.int64]"))
      .def_prop_ro(
          "dst", [](const EdgesOut& edges) { return edges.dst; },
          nb::sig("def dst(self) -> numpy.typing.NDArray[numpy.int64]"))
      .def_prop_ro(
          "ends", [](const EdgesOut& edges) { return edges.ends; },
          nb::sig("def ends(self) -> numpy.typing.NDArray[numpy.int64] | None"))
      .def_prop_ro("ids", &EdgesOut::read_ids, ids)
      .def_prop_ro("has_read_ids", [](const EdgesOut& edges) { return edges.graph.is_none(); })
      .def_ro("per_hop", &EdgesOut::per_hop);
}

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
      [](const std::vector<NodeTypeIn>& types, const std::vector<NodeSeedsIn>& seeds_in,
         const std::vector<RelationIn>& relations_in, const NeighborOptions& options) {
        std::vector<TypeSeeds> seeds;
        for (const NodeTypeIn& type : types)
          seeds.push_back({{}, {}, span_or_empty(type.times), type.num_nodes});
        for (const NodeSeedsIn& given : seeds_in) {
          seeds.at(given.type).nodes = span_or_empty(given.ids);
          seeds.at(given.type).times = span_or_empty(given.times);
        }
        std::vector<Relation> relations;
        for (const RelationIn& given : relations_in) {
          Relation relation = given.without_excluded();
          relation.excluded = {
              span_or_empty(given.excluded_src), span_or_empty(given.excluded_dst),
              given.excluded_ids ? std::optional(as_span(*given.excluded_ids)) : std::nullopt};
          relations.push_back(std::move(relation));
        }
        Neighborhood hood =
            without_gil([&] { return sample_neighbors(seeds, relations, options); });
        return std::make_pair(nodes_of(hood, options.disjoint), edges_of(hood, relations, options));
      },
      "types"_a, "seeds"_a, "relations"_a, "options"_a);
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
  bind_structs(m);
  bind_neighbors(m);
  bind_fanout(m);
}

}  // namespace gz
