#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.h"
#include "bindings/bind.h"
#include "bindings/gil.h"
#include "core/convert/index_assembly.h"
#include "core/convert/index_part.h"

namespace gz {

using namespace nb::literals;

namespace {

std::vector<std::string> paths_of(const std::vector<nb::bytes>& paths) {
  std::vector<std::string> made;
  for (const nb::bytes& path : paths) made.push_back(path_of(path));
  return made;
}

}  // namespace

void bind_convert_parts(nb::module_& m) {
  nb::class_<RecordSet>(m, "RecordSet")
      .def(
          "__init__",
          [](RecordSet* self, const std::vector<nb::bytes>& paths,
             const EdgeConverterOptions& options) {
            const std::vector<std::string> names = paths_of(paths);
            without_gil([&] { new (self) RecordSet(names, options); });
          },
          "paths"_a, "options"_a)
      .def_prop_ro("totals", [](const RecordSet& set) { return set.totals(); })
      .def_prop_ro("origins", [](const RecordSet& set) { return set.origins(); })
      .def("has_index", &RecordSet::has_index, "direction"_a)
      .def(
          "slices",
          [](const RecordSet& set, Direction direction, std::size_t part, std::size_t num_parts) {
            return part_slices(set, {direction, part, num_parts});
          },
          "direction"_a, "part"_a, "num_parts"_a);
  m.def(
      "compile_part",
      [](const RecordSet& records, Direction direction, std::size_t part, std::size_t num_parts,
         const nb::bytes& path) {
        const std::string name = path_of(path);
        without_gil([&] { compile_part(records, {direction, part, num_parts}, name); });
      },
      "records"_a, "direction"_a, "part"_a, "num_parts"_a, "path"_a);
  m.def(
      "assemble_graph",
      [](const std::vector<nb::bytes>& out_parts, const std::vector<nb::bytes>& in_parts,
         const nb::bytes& path) {
        const auto out = paths_of(out_parts), in = paths_of(in_parts);
        const std::string name = path_of(path);
        return without_gil([&] { return assemble_graph(out, in, name); });
      },
      "out_parts"_a, "in_parts"_a, "path"_a);
}

}  // namespace gz
