#include "core/gather/gather.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings/arrays.h"
#include "bindings/bind.h"

namespace gz {

using namespace nb::literals;

namespace {

using OutputBytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<std::byte> as_bytes(std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<std::byte*>(data), size};
}

}  // namespace

void bind_gather(nb::module_& m) {
  nb::enum_<ReaderKind>(m, "ReaderKind")
      .value("AUTO", ReaderKind::kAuto)
      .value("MMAP", ReaderKind::kMmap)
      .value("DIRECT", ReaderKind::kDirect)
      .value("PREAD", ReaderKind::kPread);
  nb::class_<GatherCounts>(m, "GatherCounts")
      .def_ro("rows", &GatherCounts::rows)
      .def_ro("direct_rows", &GatherCounts::direct_rows)
      .def_ro("unique_rows", &GatherCounts::unique_rows)
      .def_ro("device_reads", &GatherCounts::device_reads)
      .def_ro("device_bytes", &GatherCounts::device_bytes);
  nb::class_<ReaderChoice>(m, "ReaderChoice")
      .def_ro("kind", &ReaderChoice::kind)
      .def_ro("read_gap", &ReaderChoice::read_gap)
      .def_prop_ro("reason", [](const ReaderChoice& choice) {
        return nb::bytes(choice.reason.data(), choice.reason.size());
      });
  nb::class_<Gatherer>(m, "Gatherer")
      .def(nb::init<const Features&>(), "features"_a)
      .def(
          "gather",
          [](Gatherer& gatherer, const NodeIdArray& ids, ReaderKind reader,
             std::optional<Dtype> dtype) {
            return owned_array(
                without_gil([&] { return gatherer.gather(as_span(ids), reader, dtype); }));
          },
          "ids"_a.noconvert(), "reader"_a, "dtype"_a.none())
      .def(
          "gather_into",
          [](Gatherer& gatherer, const NodeIdArray& ids, const OutputBytes& out, ReaderKind reader,
             std::optional<Dtype> dtype) {
            without_gil([&] {
              gatherer.gather(as_span(ids), as_bytes(out.data(), out.size()), reader, dtype);
            });
          },
          "ids"_a.noconvert(), "out"_a.noconvert(), "reader"_a, "dtype"_a.none())
      .def_prop_ro("choice", &Gatherer::choice)
      .def_prop_ro("counts", &Gatherer::counts);
}

}  // namespace gz
