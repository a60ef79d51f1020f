#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "bindings/arrays.h"
#include "bindings/bind.h"
#include "core/walk/random_walk.h"

namespace gz {

using namespace nb::literals;

namespace {

using WalkArray = nb::ndarray<nb::numpy, NodeId, nb::ndim<2>>;

WalkArray to_python(Walks&& walks) {
  const std::size_t shape[] = {walks.num_walks, walks.num_columns};
  NodeId* const nodes = walks.nodes.data();
  return WalkArray(nodes, 2, shape, owner(std::move(walks.nodes)));
}

}  // namespace

void bind_walk(nb::module_& m) {
  nb::class_<WalkOptions>(m, "WalkOptions")
      .def(nb::init<>())
      .def_rw("length", &WalkOptions::length)
      .def_rw("p", &WalkOptions::p)
      .def_rw("q", &WalkOptions::q)
      .def_rw("restart", &WalkOptions::restart)
      .def_rw("weighted", &WalkOptions::weighted)
      .def_rw("seed", &WalkOptions::seed);
  m.def(
      "random_walk",
      [](const Topology& graph, Direction direction, const NodeIdArray& starts,
         const WalkOptions& options) {
        return to_python(
            without_gil([&] { return random_walk(graph, direction, as_span(starts), options); }));
      },
      "graph"_a, "direction"_a, "starts"_a.noconvert(), "options"_a);
  m.def(
      "metapath_walk",
      [](const std::vector<std::pair<const Topology*, bool>>& path, const NodeIdArray& starts,
         const WalkOptions& options) {
        std::vector<MetapathStep> steps;
        for (const auto& [graph, leads_home] : path) steps.push_back({graph, leads_home});
        return to_python(
            without_gil([&] { return metapath_walk(steps, as_span(starts), options); }));
      },
      "path"_a, "starts"_a.noconvert(), "options"_a);
}

}  // namespace gz
