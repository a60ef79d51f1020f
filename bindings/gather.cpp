#include "core/gather/gather.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "bindings/arrays.h"
#include "bindings/bind.h"
#include "core/gather/row_shares.h"

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
  nb::class_<RowShares>(m, "RowShares")
      .def(
          "__init__",
          [](RowShares* made, std::vector<NodeId> bounds, const NodeIdArray& hot) {
            without_gil([&] { new (made) RowShares(std::move(bounds), as_span(hot)); });
          },
          "bounds"_a, "hot"_a.noconvert())
      .def(
          "split",
          [](const RowShares& shares, const NodeIdArray& ids) {
            RowSplit split = without_gil([&] { return shares.split(as_span(ids)); });
            return nb::make_tuple(std::move(split.counts), owned_array(std::move(split.rows)),
                                  owned_array(std::move(split.places)));
          },
          "ids"_a.noconvert())
      .def_prop_ro("nbytes", &RowShares::bytes);
  nb::class_<RowMemory>(m, "RowMemory").def(nb::init<std::uint64_t>(), "bytes"_a);
  m.def(
      "row_memory",
      [](std::size_t bytes) {
        Buffer<std::uint8_t> memory;
        memory.extend(bytes);
        return owned_array(std::move(memory));
      },
      "bytes"_a);
  nb::class_<RowCopy>(m, "RowCopy")
      .def(nb::init<Dtype, bool, std::uint64_t, std::optional<Dtype>>(), "stored"_a, "quantised"_a,
           "items_per_row"_a, "wanted"_a.none())
      .def_static("with_scales", &RowCopy::with_scales, "items_per_row"_a)
      .def_prop_ro("out_bytes", &RowCopy::out_bytes);
  m.def(
      "place_rows",
      [](const RowCopy& copy, const InputArray<std::uint8_t>& rows, const InputArray<float>& scales,
         const InputArray<std::int64_t>& places) {
        Buffer<std::uint8_t> out;
        without_gil([&] {
          const std::size_t bytes = places.size() * copy.out_bytes();
          std::uint8_t* const data = out.extend(bytes);
          place_rows(copy, std::as_bytes(as_span(rows)), as_span(scales), as_span(places),
                     as_bytes(data, bytes));
        });
        return owned_array(std::move(out));
      },
      "copy"_a, "rows"_a.noconvert(), "scales"_a.noconvert(), "places"_a.noconvert());
}

}  // namespace gz
