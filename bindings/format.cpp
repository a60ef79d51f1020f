#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.h"
#include "bindings/bind.h"
#include "core/format/gd_writer.h"
#include "core/format/row_places.h"

namespace gz {

using namespace nb::literals;

namespace {

template <class Id>
void append_places(GdWriter& writer, const InputArray<Id>& places) {
  const auto items = as_span(places);
  without_gil([&] { writer.append_row_map(items); });
}

}  // namespace

void bind_format(nb::module_& m) {
  nb::enum_<Dtype>(m, "DataType")
      .value("INT32", Dtype::kInt32)
      .value("INT64", Dtype::kInt64)
      .value("FLOAT32", Dtype::kFloat32)
      .value("FLOAT64", Dtype::kFloat64)
      .value("FLOAT16", Dtype::kFloat16)
      .value("BFLOAT16", Dtype::kBfloat16)
      .value("INT8", Dtype::kInt8)
      .value("INT16", Dtype::kInt16)
      .value("UINT8", Dtype::kUint8)
      .value("BOOL", Dtype::kBool);
  nb::class_<RowPlaces>(m, "RowPlaces")
      .def_static(
          "hottest_first",
          [](const InputArray<std::uint32_t>& appearances) {
            const auto counts = as_span(appearances);
            return without_gil([&] { return RowPlaces::hottest_first(counts); });
          },
          "appearances"_a.noconvert())
      .def_static(
          "in_order",
          [](const NodeIdArray& order, std::uint64_t num_rows) {
            const auto ids = as_span(order);
            return without_gil(
                [&] { return RowPlaces::in_order(ids, num_rows, id_width_for(num_rows)); });
          },
          "order"_a.noconvert(), "num_rows"_a)
      .def("__len__", &RowPlaces::size)
      .def("order", [](const RowPlaces& places) {
        return owned_array(without_gil([&] { return places.order(); }));
      });
  nb::class_<GdWriter>(m, "GdWriter")
      .def(
          "__init__",
          [](GdWriter* self, const nb::bytes& path, Dtype dtype,
             const std::vector<std::uint64_t>& shape) {
            new (self) GdWriter(path_of(path), dtype, shape);
          },
          "path"_a, "dtype"_a, "shape"_a)
      .def(
          "append",
          [](GdWriter& self, const InputArray<std::uint8_t>& rows) {
            const auto bytes = std::as_bytes(as_span(rows));
            without_gil([&] { self.append(bytes); });
          },
          "rows"_a.noconvert())
      .def(
          "append_from",
          [](GdWriter& self, const nb::bytes& path, std::uint64_t offset, std::uint64_t length) {
            const std::string name = path_of(path);
            without_gil([&] { self.append_from(File(name), offset, length); });
          },
          "path"_a, "offset"_a, "length"_a)
      .def("rewind", [](GdWriter& self) { without_gil([&] { self.rewind(); }); })
      .def(
          "read_back",
          [](const GdWriter& self, std::uint64_t offset, std::uint64_t length) {
            return owned_array(without_gil([&] {
              std::vector<std::uint8_t> bytes(static_cast<std::size_t>(length));
              self.read_back(std::as_writable_bytes(std::span(bytes)), offset);
              return bytes;
            }));
          },
          "offset"_a, "length"_a)
      .def(
          "append_scales",
          [](GdWriter& self, const InputArray<float>& scales) {
            const auto items = as_span(scales);
            without_gil([&] { self.append_scales(items); });
          },
          "scales"_a.noconvert())
      .def(
          "append_row_map",
          [](GdWriter& self, const RowPlaces& places) {
            without_gil(
                [&] { places.visit([&](const auto& by_id) { self.append_row_map(by_id); }); });
          },
          "places"_a)
      .def("append_row_map", &append_places<std::int32_t>, "places"_a.noconvert())
      .def("append_row_map", &append_places<std::int64_t>, "places"_a.noconvert())
      .def("set_num_rows", &GdWriter::set_num_rows, "num_rows"_a)
      .def("finish", [](GdWriter& self) { without_gil([&] { self.finish(); }); });
}

}  // namespace gz
