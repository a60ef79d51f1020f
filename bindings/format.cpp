#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <tuple>

#include "bindings/arrays.h"
#include "bindings/bind.h"
#include "bindings/one_thread.h"
#include "core/format/gd_append.h"
#include "core/format/gd_writer.h"
#include "core/format/header_page.h"
#include "core/format/row_places.h"

namespace gz {

using namespace nb::literals;

namespace {

using Writer = OneThread<GdWriter>;

template <class Id>
void append_places(Writer& self, const InputArray<Id>& places) {
  const auto items = as_span(places);
  self.use([&](GdWriter& writer) { writer.append_row_map(items); });
}

GdLayout layout_of(const nb::bytes& path, const nb::bytes& page, std::uint64_t file_size) {
  const std::string name = path_of(path);
  HeaderPage header;
  if (page.size() != header.size()) {
    throw FormatError(name, "too short: expected at least the header's ", header.size(),
                      " bytes, found ", page.size());
  }
  std::memcpy(header.data(), page.c_str(), header.size());
  return read_gd(name, header, file_size);
}

// Kind, offset and checksum of each.
std::vector<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>> sections_of(
    const GdLayout& layout) {
  std::vector<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>> found;
  for (const Section& section : layout.sections)
    found.emplace_back(section.kind, section.offset, section.checksum);
  return found;
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
  nb::class_<GdLayout>(m, "GdHeader")
      .def(
          "__init__",
          [](GdLayout* self, const nb::bytes& path, const nb::bytes& page,
             std::uint64_t file_size) { new (self) GdLayout(layout_of(path, page, file_size)); },
          "path"_a, "page"_a, "file_size"_a)
      .def_ro("dtype", &GdLayout::dtype)
      .def_ro("shape", &GdLayout::shape)
      .def_prop_ro("row_bytes",
                   [](const GdLayout& layout) {
                     return byte_size(layout.dtype, {layout.shape.begin() + 1, layout.shape.end()});
                   })
      .def_prop_ro("sections", &sections_of);
  nb::class_<RowPlaces>(m, "RowPlaces")
      .def_static(
          "hottest_first",
          [](const InputArray<std::uint32_t>& neighbor_counts) {
            const auto counts = as_span(neighbor_counts);
            return without_gil([&] { return RowPlaces::hottest_first(counts); });
          },
          "neighbor_counts"_a.noconvert())
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
  nb::class_<Writer>(m, "GdWriter")
      .def(
          "__init__",
          [](Writer* self, const nb::bytes& path, Dtype dtype,
             const std::vector<std::uint64_t>& shape) {
            new (self) Writer("GdWriter", path_of(path), dtype, shape);
          },
          "path"_a, "dtype"_a, "shape"_a)
      .def(
          "append",
          [](Writer& self, const InputArray<std::uint8_t>& rows) {
            const auto bytes = std::as_bytes(as_span(rows));
            self.use([&](GdWriter& writer) { writer.append(bytes); });
          },
          "rows"_a.noconvert())
      .def(
          "append_from",
          [](Writer& self, const nb::bytes& path, std::uint64_t offset, std::uint64_t length) {
            const std::string name = path_of(path);
            self.use([&](GdWriter& writer) { writer.append_from(File(name), offset, length); });
          },
          "path"_a, "offset"_a, "length"_a)
      .def(
          "append_file",
          [](Writer& self, const nb::bytes& path) {
            const std::string name = path_of(path);
            self.use([&](GdWriter& writer) { append_file(writer, File(name)); });
          },
          "path"_a)
      .def(
          "append_scales",
          [](Writer& self, const InputArray<float>& scales) {
            const auto items = as_span(scales);
            self.use([&](GdWriter& writer) { writer.append_scales(items); });
          },
          "scales"_a.noconvert())
      .def(
          "append_row_map",
          [](Writer& self, const RowPlaces& places) {
            self.use([&](GdWriter& writer) {
              places.visit([&](const auto& by_id) { writer.append_row_map(by_id); });
            });
          },
          "places"_a)
      .def("append_row_map", &append_places<std::int32_t>, "places"_a.noconvert())
      .def("append_row_map", &append_places<std::int64_t>, "places"_a.noconvert())
      .def(
          "set_num_rows",
          [](Writer& self, std::uint64_t num_rows) {
            self.use([&](GdWriter& writer) { writer.set_num_rows(num_rows); });
          },
          "num_rows"_a)
      .def("finish", [](Writer& self) { self.use([](GdWriter& writer) { writer.finish(); }); });
}

}  // namespace gz
