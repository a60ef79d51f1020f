#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings/arrays.h"
#include "bindings/bind.h"
#include "core/convert/write_graph.h"

namespace gz {

using namespace nb::literals;

void bind_convert(nb::module_& m) {
  nb::class_<WriteGraphOptions>(m, "WriteGraphOptions")
      .def(nb::init<>())
      .def_rw("num_src_nodes", &WriteGraphOptions::num_src_nodes)
      .def_rw("num_dst_nodes", &WriteGraphOptions::num_dst_nodes)
      .def_rw("bipartite", &WriteGraphOptions::bipartite)
      .def_rw("directed", &WriteGraphOptions::directed)
      .def_rw("out_index", &WriteGraphOptions::out_index)
      .def_rw("in_index", &WriteGraphOptions::in_index);
  m.def(
      "write_graph",
      [](const nb::bytes& path, const NodeIdArray& src, const NodeIdArray& dst,
         const std::optional<InputArray<float>>& weight,
         const std::optional<InputArray<std::int64_t>>& time, const WriteGraphOptions& options) {
        EdgeList edges;
        edges.src = as_span(src);
        edges.dst = as_span(dst);
        if (weight) edges.weight = as_span(*weight);
        if (time) edges.time = as_span(*time);
        const std::string name = path_of(path);
        without_gil([&] { write_graph(name, edges, options); });
      },
      "path"_a, "src"_a.noconvert(), "dst"_a.noconvert(), "weight"_a.noconvert().none(),
      "time"_a.noconvert().none(), "options"_a);
}

}  // namespace gz
