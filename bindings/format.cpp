#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.h"
#include "bindings/bind.h"
#include "core/format/gd_writer.h"

namespace gz {

using namespace nb::literals;

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
      .def("finish", [](GdWriter& self) { without_gil([&] { self.finish(); }); });
}

}  // namespace gz
