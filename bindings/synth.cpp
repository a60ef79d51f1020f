#include <nanobind/nanobind.h>

#include "bindings/arrays.h"
#include "bindings/bind.h"
#include "core/synth/synthetic_edges.h"
#include "core/synth/synthetic_nodes.h"

namespace gz {

using namespace nb::literals;

namespace {

template <class Id>
auto places_from(const SyntheticNodes& nodes, std::uint64_t first, std::size_t count) {
  return owned_array(without_gil([&] {
    std::vector<Id> places(count);
    nodes.fill_places<Id>(first, places);
    return places;
  }));
}

}  // namespace

void bind_synth(nb::module_& m) {
  nb::class_<SynthNodes>(m, "SynthNodes")
      .def(
          "__init__",
          [](SynthNodes* self, std::uint64_t num_nodes, std::uint64_t kind) {
            new (self) SynthNodes{num_nodes, kind};
          },
          "num_nodes"_a, "kind"_a);

  nb::class_<BlockOptions>(m, "BlockOptions")
      .def(
          "__init__",
          [](BlockOptions* self, std::uint64_t classes, int skew, double homophily) {
            new (self) BlockOptions{classes, skew, homophily};
          },
          "classes"_a, "skew"_a, "homophily"_a);

  nb::class_<SyntheticEdges>(m, "SyntheticEdges")
      .def_static("blocks", &SyntheticEdges::blocks, "seed"_a, "kind"_a, "src"_a, "dst"_a,
                  "num_edges"_a, "options"_a)
      .def_static("rmat", &SyntheticEdges::rmat, "seed"_a, "num_nodes"_a, "num_edges"_a)
      .def_static("attachment", &SyntheticEdges::attachment, "seed"_a, "num_nodes"_a, "num_edges"_a)
      .def_prop_ro("num_edges", &SyntheticEdges::num_edges)
      .def(
          "edges",
          [](const SyntheticEdges& self, std::uint64_t first, std::size_t count) {
            Buffer<NodeId> src, dst;
            without_gil([&] {
              const std::span from(src.extend(count), count), to(dst.extend(count), count);
              self.fill(first, from, to);
            });
            return nb::make_tuple(owned_array(std::move(src)), owned_array(std::move(dst)));
          },
          "first"_a, "count"_a,
          nb::sig("def edges(self, first: int, count: int) -> tuple["
                  "numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64]]"));

  m.attr("NOISE_VALUES") = kNoiseValues;
  nb::class_<SyntheticNodes>(m, "SyntheticNodes")
      .def(nb::init<std::uint64_t, SynthNodes, std::uint64_t>(), "seed"_a, "nodes"_a, "classes"_a)
      .def(
          "labels",
          [](const SyntheticNodes& self, std::uint64_t first, std::size_t count) {
            return owned_array(without_gil([&] {
              std::vector<std::int64_t> labels(count);
              self.fill_labels(first, labels);
              return labels;
            }));
          },
          "first"_a, "count"_a)
      .def(
          "rows",
          [](const SyntheticNodes& self, std::uint64_t first, std::size_t count, bool by_place,
             std::size_t width, std::size_t item_bytes, const InputArray<std::uint8_t>& values) {
            const auto table = std::as_bytes(as_span(values));
            return owned_array(without_gil([&] {
              Buffer<std::uint8_t> rows;
              const std::size_t size = count * width * item_bytes;
              const std::span room(rows.extend(size), size);
              self.fill_rows(first, by_place, width, item_bytes, table,
                             std::as_writable_bytes(room));
              return rows;
            }));
          },
          "first"_a, "count"_a, "by_place"_a, "width"_a, "item_bytes"_a, "values"_a.noconvert())
      .def("places32", &places_from<std::int32_t>, "first"_a, "count"_a)
      .def("places64", &places_from<std::int64_t>, "first"_a, "count"_a)
      .def(
          "with_lots",
          [](const SyntheticNodes& self, std::uint64_t first, std::uint64_t end, std::uint64_t from,
             std::uint64_t to) {
            return owned_array(without_gil([&] { return self.with_lots(first, end, from, to); }));
          },
          "first"_a, "end"_a, "begin_lot"_a, "end_lot"_a);
}

}  // namespace gz
