#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.h"
#include "bindings/bind.h"
#include "bindings/one_thread.h"
#include "core/convert/feature_text.h"
#include "core/convert/narrowing.h"
#include "core/convert/reorder_features.h"
#include "core/convert/row_placer.h"

namespace gz {

using namespace nb::literals;

namespace {

// Texts of a file that need not be UTF-8.
nb::object text_of(const std::string& bytes) {
  return nb::steal(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

nb::tuple rows_of(FeatureRows&& rows) {
  return nb::make_tuple(owned_array(std::move(rows.items)), owned_array(std::move(rows.ids)),
                        nb::make_tuple(owned_array(std::move(rows.labels.bytes)),
                                       owned_array(std::move(rows.labels.offsets))),
                        owned_array(std::move(rows.lines)), rows.num_rows);
}

std::string_view as_text(const InputArray<std::uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class Number>
void bind_narrow(nb::module_& m) {
  m.def(
      "narrow",
      [](const InputArray<Number>& numbers, Dtype target) {
        const auto in = as_span(numbers);
        std::vector<std::uint8_t> out(in.size() * item_size(target));
        const NarrowingLoss loss = without_gil([&] { return narrow(in, target, std::span(out)); });
        return nb::make_tuple(owned_array(std::move(out)), loss);
      },
      "numbers"_a.noconvert(), "target"_a);
}

template <class Float>
void bind_quantise(nb::module_& m) {
  m.def(
      "quantise",
      [](const InputArray<Float>& numbers, std::size_t num_rows, std::size_t width) {
        const auto in = as_span(numbers);
        std::vector<std::uint8_t> out(in.size());
        std::vector<float> scales(num_rows);
        NarrowingLoss loss;
        const std::size_t first_bad = without_gil(
            [&] { return quantise(in, width, std::span(out), std::span(scales), loss); });
        return nb::make_tuple(owned_array(std::move(out)), owned_array(std::move(scales)), loss,
                              first_bad);
      },
      "numbers"_a.noconvert(), "num_rows"_a, "width"_a);
}

void bind_reordering(nb::module_& m) {
  nb::class_<FeatureReorderer>(m, "FeatureReorderer")
      .def(
          "__init__",
          [](FeatureReorderer* self, const nb::bytes& path) {
            new (self) FeatureReorderer(path_of(path));
          },
          "path"_a)
      .def_prop_ro("num_rows", &FeatureReorderer::num_rows)
      .def_prop_ro("least_memory", &FeatureReorderer::least_memory)
      .def(
          "write",
          [](FeatureReorderer& self, const nb::bytes& path, const RowPlaces& places,
             std::uint64_t memory, const nb::bytes& temporary_folder) {
            const std::string name = path_of(path);
            const ReorderOptions options = {memory, path_of(temporary_folder)};
            without_gil([&] { self.write(name, places, options); });
          },
          "path"_a, "places"_a, "memory"_a, "temporary_folder"_a)
      .def("done", &FeatureReorderer::done)
      .def("total", &FeatureReorderer::total, "memory"_a);
}

void bind_placing(nb::module_& m) {
  using Placer = OneThread<RowPlacer>;
  nb::class_<RefusedRow>(m, "RefusedRow")
      .def_ro("line", &RefusedRow::line)
      .def_ro("id", &RefusedRow::id)
      .def_ro("is_second", &RefusedRow::is_second);
  nb::class_<RefusedRows>(m, "RefusedRows")
      .def_ro("first", &RefusedRows::first)
      .def_ro("count", &RefusedRows::count);
  nb::class_<Placer>(m, "RowPlacer")
      .def(
          "__init__",
          [](Placer* self, const nb::bytes& path, Dtype dtype,
             const std::vector<std::uint64_t>& row_shape, bool quantised, std::uint64_t memory) {
            new (self) Placer("RowPlacer", path_of(path), dtype, row_shape, quantised, memory);
          },
          "path"_a, "dtype"_a, "row_shape"_a, "quantised"_a, "memory"_a)
      .def(
          "add",
          [](Placer& self, const NodeIdArray& ids, const InputArray<std::int64_t>& lines,
             const InputArray<std::uint8_t>& rows, const std::optional<InputArray<float>>& scales,
             std::uint64_t limit) {
            const PlacedRows in = {as_span(ids), as_span(lines), std::as_bytes(as_span(rows)),
                                   scales ? as_span(*scales) : std::span<const float>()};
            self.use([&](RowPlacer& placer) { placer.add(in, limit); });
          },
          "ids"_a.noconvert(), "lines"_a.noconvert(), "rows"_a.noconvert(),
          "scales"_a.noconvert().none(), "limit"_a)
      .def(
          "close",
          [](Placer& self, std::uint64_t num_rows) {
            self.use([&](RowPlacer& placer) { placer.close(num_rows); });
          },
          "num_rows"_a)
      .def("write_range",
           [](Placer& self) { return self.use([](RowPlacer& p) { return p.write_range(); }); })
      .def("take_refused",
           [](Placer& self) { return self.use([](RowPlacer& p) { return p.take_refused(); }); })
      .def("finish", [](Placer& self) { self.use([](RowPlacer& p) { p.finish(); }); })
      .def_prop_ro("num_rows", [](const Placer& self) { return self.look().num_rows(); })
      .def_prop_ro("num_given", [](const Placer& self) { return self.look().num_given(); });
}

}  // namespace

void bind_convert_features(nb::module_& m) {
  nb::class_<FeatureTextOptions>(m, "FeatureTextOptions")
      .def(nb::init<>())
      .def_prop_rw(
          "name",
          [](const FeatureTextOptions& o) { return nb::bytes(o.name.data(), o.name.size()); },
          [](FeatureTextOptions& o, const nb::bytes& name) { o.name = path_of(name); })
      .def_rw("delimiter", &FeatureTextOptions::delimiter)
      .def_rw("num_columns", &FeatureTextOptions::num_columns)
      .def_rw("columns", &FeatureTextOptions::columns)
      .def_rw("id_column", &FeatureTextOptions::id_column, nb::arg().none())
      .def_rw("id_labels", &FeatureTextOptions::id_labels, nb::arg().none())
      .def_rw("dtype", &FeatureTextOptions::dtype)
      .def_rw("skip_bad_lines", &FeatureTextOptions::skip_bad_lines);

  nb::class_<FeatureText>(m, "FeatureText")
      .def_ro("num_lines", &FeatureText::num_lines)
      .def_prop_ro("num_bad", [](const FeatureText& text) { return text.bad.count; })
      .def_prop_ro(
          "bad",
          [](const FeatureText& text) {
            nb::list bad;
            for (const BadLine& line : text.bad.first) {
              bad.append(nb::make_tuple(line.line, text_of(line.text), text_of(line.reason)));
            }
            return bad;
          },
          nb::sig("def bad(self) -> list[tuple[int, str, str]]"))
      .def(
          "take_pieces",
          [](FeatureText& text) {
            nb::list pieces;
            for (FeatureRows& rows : text.pieces) pieces.append(rows_of(std::move(rows)));
            text.pieces.clear();
            return pieces;
          },
          nb::sig("def take_pieces(self) -> list[tuple[numpy.typing.NDArray[numpy.uint8], "
                  "numpy.typing.NDArray[numpy.int64], tuple[numpy.typing.NDArray[numpy.uint8], "
                  "numpy.typing.NDArray[numpy.int64]], numpy.typing.NDArray[numpy.int64], int]]"));

  nb::class_<NarrowingLoss>(m, "NarrowingLoss")
      .def_ro("max_error", &NarrowingLoss::max_error)
      .def_ro("sum_of_squares", &NarrowingLoss::sum_of_squares)
      .def_ro("measured", &NarrowingLoss::measured)
      .def_ro("overflows", &NarrowingLoss::overflows)
      .def_ro("minimum", &NarrowingLoss::minimum)
      .def_ro("maximum", &NarrowingLoss::maximum);
  bind_narrow<float>(m);
  bind_narrow<double>(m);
  bind_narrow<std::int64_t>(m);
  bind_narrow<std::uint64_t>(m);
  bind_quantise<float>(m);
  bind_quantise<double>(m);
  bind_reordering(m);
  bind_placing(m);

  m.def(
      "parse_features",
      [](const InputArray<std::uint8_t>& text, std::uint64_t lines_before, std::size_t num_pieces,
         const FeatureTextOptions& options) {
        const std::string_view view = as_text(text);
        return without_gil([&] { return parse_features(view, lines_before, num_pieces, options); });
      },
      "text"_a.noconvert(), "lines_before"_a, "num_pieces"_a, "options"_a);
}

}  // namespace gz
