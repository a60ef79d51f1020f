#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.h"
#include "bindings/bind.h"
#include "bindings/one_thread.h"
#include "core/convert/edge_converter.h"
#include "core/convert/text_labels.h"

namespace gz {

using namespace nb::literals;

namespace {

void bind_text(nb::module_& m) {
  nb::class_<TextFormat>(m, "TextFormat")
      .def_prop_ro("delimiter", [](const TextFormat& f) { return std::string(1, f.delimiter); })
      .def_ro("header", &TextFormat::header)
      .def_prop_ro(
          "header_line",
          [](const TextFormat& f) { return nb::bytes(f.header_line.data(), f.header_line.size()); })
      .def_ro("data_begin", &TextFormat::data_begin)
      .def_ro("lines_before_data", &TextFormat::lines_before_data)
      .def_ro("num_columns", &TextFormat::num_columns)
      .def(
          "first_field",
          [](const TextFormat& f, std::size_t column) {
            const std::string field = f.field(f.first_line, column);
            return nb::bytes(field.data(), field.size());
          },
          "column"_a)
      .def(
          "second_field",
          [](const TextFormat& f, std::size_t column) {
            const std::string field = f.field(f.second_line, column);
            return nb::bytes(field.data(), field.size());
          },
          "column"_a);
  m.def("longest_line", &longest_line, "held"_a);
  m.def(
      "refuse_long_line",
      [](const nb::bytes& name, std::uint64_t line, std::uint64_t longest) {
        refuse_long_line(path_of(name), line, longest);
      },
      "name"_a, "line"_a, "longest"_a);

  const auto hints = [](std::optional<std::string> delimiter, std::optional<bool> header,
                        std::optional<std::string> comment) {
    TextHints made;
    if (delimiter) made.delimiter = delimiter->at(0);
    made.header = header;
    made.comment = std::move(comment);
    return made;
  };
  m.def(
      "sniff_file",
      [hints](const nb::bytes& path, std::optional<std::string> delimiter,
              std::optional<bool> header, std::optional<std::string> comment,
              std::uint64_t longest) {
        TextHints told = hints(delimiter, header, comment);
        told.longest_line = longest;
        return sniff_text(FileText(path_of(path)), told);
      },
      "path"_a, "delimiter"_a = nb::none(), "header"_a = nb::none(), "comment"_a = nb::none(),
      "longest_line"_a = longest_line(0));
  m.def(
      "sniff_block",
      [hints](const nb::bytes& name, const nb::bytes& text, std::optional<std::string> delimiter,
              std::optional<bool> header, std::optional<std::string> comment,
              std::uint64_t lines_before) {
        TextHints told = hints(delimiter, header, comment);
        told.lines_before = lines_before;
        return sniff_text(MemoryText(path_of(name), {text.c_str(), text.size()}), told);
      },
      "name"_a, "text"_a, "delimiter"_a = nb::none(), "header"_a = nb::none(),
      "comment"_a = nb::none(), "lines_before"_a = 0);

  nb::enum_<TimeUnit>(m, "TimeUnit")
      .value("SECOND", TimeUnit::kSecond)
      .value("MILLISECOND", TimeUnit::kMillisecond)
      .value("MICROSECOND", TimeUnit::kMicrosecond)
      .value("NANOSECOND", TimeUnit::kNanosecond);
  m.def(
      "is_iso_time",
      [](std::string_view text) {
        return parse_iso_time(text, TimeUnit::kSecond).fault != TimeFault::kNoTime;
      },
      "text"_a);
  nb::enum_<TimeFault>(m, "TimeFault")
      .value("NO_TIME", TimeFault::kNoTime)
      .value("FINER", TimeFault::kFiner)
      .value("TOO_FAR", TimeFault::kTooFar);
  nb::class_<IsoTimes>(m, "IsoTimes")
      .def("take_values", [](IsoTimes& t) { return owned_array(std::move(t.values)); })
      .def("take_have_offsets", [](IsoTimes& t) { return owned_array(std::move(t.have_offsets)); })
      .def_ro("wrong", &IsoTimes::wrong)
      .def_prop_ro("fault", [](const IsoTimes& t) { return t.fault.fault; })
      .def_prop_ro("needed", [](const IsoTimes& t) { return t.fault.needed; });
  m.def(
      "parse_iso_times",
      [](const InputArray<std::uint8_t>& bytes, const InputArray<std::int64_t>& offsets,
         TimeUnit unit) {
        const auto text = std::as_bytes(as_span(bytes));
        const auto places = as_span(offsets);
        return without_gil([&] { return parse_iso_times(text, places, unit); });
      },
      "bytes"_a.noconvert(), "offsets"_a.noconvert(), "unit"_a);
  nb::class_<EdgeColumns>(m, "EdgeColumns")
      .def(nb::init<>())
      .def_rw("src", &EdgeColumns::src)
      .def_rw("dst", &EdgeColumns::dst)
      .def_rw("weight", &EdgeColumns::weight)
      .def_rw("time", &EdgeColumns::time)
      .def_rw("iso_times", &EdgeColumns::iso_times, nb::arg().none())
      .def_rw("row_lines", &EdgeColumns::row_lines);
  nb::class_<BadLine>(m, "BadLine")
      .def_ro("line", &BadLine::line)
      .def_prop_ro("text",
                   [](const BadLine& bad) { return nb::bytes(bad.text.data(), bad.text.size()); })
      .def_prop_ro("reason", [](const BadLine& bad) {
        return nb::bytes(bad.reason.data(), bad.reason.size());
      });
}

// Columns that are there as arrays, the others as None.
template <class Item>
nb::object array_or_none(bool wanted, std::vector<Item>&& items) {
  return wanted ? nb::cast(owned_array(std::move(items))) : nb::none();
}

nb::object label_array(LabelColumn&& column) {
  return nb::make_tuple(owned_array(std::move(column.bytes)),
                        owned_array(std::move(column.offsets)));
}

nb::object label_array(std::vector<std::int64_t>&& column) {
  return nb::cast(owned_array(std::move(column)));
}

template <class Edges>
void bind_labelled_edges(nb::module_& m, const char* name, const std::string& labels) {
  const std::string take_src = "def take_src(self) -> " + labels;
  const std::string take_dst = "def take_dst(self) -> " + labels;
  nb::class_<Edges>(m, name)
      .def_ro("lines", &Edges::lines)
      .def_prop_ro("num_bad", [](const Edges& edges) { return edges.bad.count; })
      .def_prop_ro("bad", [](const Edges& edges) { return edges.bad.first; })
      .def(
          "take_src", [](Edges& e) { return label_array(std::move(e.src)); },
          nb::sig(take_src.c_str()))
      .def(
          "take_dst", [](Edges& e) { return label_array(std::move(e.dst)); },
          nb::sig(take_dst.c_str()))
      .def(
          "take_weight",
          [](Edges& e) { return array_or_none(!e.weight.empty(), std::move(e.weight)); },
          nb::sig("def take_weight(self) -> NDArray[numpy.float32] | None"))
      .def(
          "take_time", [](Edges& e) { return array_or_none(!e.time.empty(), std::move(e.time)); },
          nb::sig("def take_time(self) -> NDArray[numpy.int64] | None"))
      .def(
          "take_row_lines",
          [](Edges& e) { return array_or_none(!e.row_lines.empty(), std::move(e.row_lines)); },
          nb::sig("def take_row_lines(self) -> NDArray[numpy.int64] | None"));
}

template <auto parse>
void bind_parse(nb::module_& m, const char* function) {
  m.def(
      function,
      [](const nb::bytes& name, const nb::bytes& text, std::uint64_t begin,
         std::uint64_t lines_before, const TextFormat& format, const EdgeColumns& columns,
         bool skip_bad) {
        const MemoryText input(path_of(name), {text.c_str(), text.size()});
        return without_gil(
            [&] { return parse(input, begin, lines_before, format, columns, skip_bad); });
      },
      "name"_a, "text"_a, "begin"_a, "lines_before"_a, "format"_a, "columns"_a, "skip_bad"_a);
}

void bind_labels(nb::module_& m) {
  bind_labelled_edges<TextLabelledEdges>(m, "TextLabelledEdges",
                                         "tuple[NDArray[numpy.uint8], NDArray[numpy.int64]]");
  bind_labelled_edges<IntegerLabelledEdges>(m, "IntegerLabelledEdges", "NDArray[numpy.int64]");
  bind_parse<&parse_text_labels>(m, "parse_text_labels");
  bind_parse<&parse_integer_labels>(m, "parse_integer_labels");
}

void bind_edge_converter(nb::module_& m) {
  nb::class_<EdgeConverterOptions>(m, "EdgeConverterOptions")
      .def(nb::init<>())
      .def_rw("directed", &EdgeConverterOptions::directed)
      .def_rw("bipartite", &EdgeConverterOptions::bipartite)
      .def_rw("out_index", &EdgeConverterOptions::out_index)
      .def_rw("in_index", &EdgeConverterOptions::in_index)
      .def_rw("edge_ids", &EdgeConverterOptions::edge_ids)
      .def_rw("weights", &EdgeConverterOptions::weights)
      .def_rw("times", &EdgeConverterOptions::times)
      .def_rw("drop_duplicates", &EdgeConverterOptions::drop_duplicates)
      .def_rw("drop_self_loops", &EdgeConverterOptions::drop_self_loops)
      .def_rw("skip_bad_lines", &EdgeConverterOptions::skip_bad_lines)
      .def_rw("num_src_nodes", &EdgeConverterOptions::num_src_nodes)
      .def_rw("num_dst_nodes", &EdgeConverterOptions::num_dst_nodes)
      .def_rw("num_rows", &EdgeConverterOptions::num_rows)
      .def_rw("memory", &EdgeConverterOptions::memory)
      .def_prop_rw(
          "temporary_folder",
          [](const EdgeConverterOptions& o) {
            return nb::bytes(o.temporary_folder.data(), o.temporary_folder.size());
          },
          [](EdgeConverterOptions& o, const nb::bytes& folder) {
            o.temporary_folder = path_of(folder);
          });

  nb::class_<EdgeReport>(m, "EdgeReport")
      .def_ro("num_rows", &EdgeReport::num_rows)
      .def_ro("num_lines", &EdgeReport::num_lines)
      .def_prop_ro("num_bad_lines", [](const EdgeReport& r) { return r.bad_lines.count; })
      .def_prop_ro("bad_lines", [](const EdgeReport& r) { return r.bad_lines.first; })
      .def_ro("num_self_loops", &EdgeReport::num_self_loops)
      .def_ro("num_duplicates", &EdgeReport::num_duplicates)
      .def_ro("num_edges", &EdgeReport::num_edges)
      .def_ro("num_src_nodes", &EdgeReport::num_src_nodes)
      .def_ro("num_dst_nodes", &EdgeReport::num_dst_nodes)
      .def_ro("smallest_id", &EdgeReport::smallest_id)
      .def_ro("largest_id", &EdgeReport::largest_id)
      .def_ro("spilled_bytes", &EdgeReport::spilled_bytes);

  nb::class_<EdgeConverter::Done>(m, "EdgesDone")
      .def_ro("text_bytes", &EdgeConverter::Done::text_bytes)
      .def_ro("rows", &EdgeConverter::Done::rows)
      .def_ro("entries", &EdgeConverter::Done::entries)
      .def_ro("largest_id", &EdgeConverter::Done::largest_id);

  using Converter = OneThread<EdgeConverter>;
  nb::class_<Converter>(m, "EdgeConverter")
      .def(
          "__init__",
          [](Converter* self, const EdgeConverterOptions& options) {
            new (self) Converter("EdgeConverter", options);
          },
          "options"_a)
      .def(
          "add_text_file",
          [](Converter& self, const nb::bytes& path, const TextFormat& format,
             const EdgeColumns& columns) {
            const std::string name = path_of(path);
            self.use([&](EdgeConverter& converter) {
              converter.add_text(FileText(name), format.data_begin, format.lines_before_data,
                                 format, columns);
            });
          },
          "path"_a, "format"_a, "columns"_a)
      .def(
          "add_text_part",
          [](Converter& self, const nb::bytes& path, std::uint64_t begin, std::uint64_t end,
             std::uint64_t lines_before, const TextFormat& format, const EdgeColumns& columns) {
            const std::string name = path_of(path);
            self.use([&](EdgeConverter& converter) {
              converter.add_text(FileText(name, end), begin, lines_before, format, columns);
            });
          },
          "path"_a, "begin"_a, "end"_a, "lines_before"_a, "format"_a, "columns"_a)
      .def(
          "add_text_block",
          [](Converter& self, const nb::bytes& name, const nb::bytes& text, std::uint64_t begin,
             std::uint64_t lines_before, const TextFormat& format, const EdgeColumns& columns) {
            const MemoryText input(path_of(name), {text.c_str(), text.size()});
            return self.use([&](EdgeConverter& converter) {
              return converter.add_text(input, begin, lines_before, format, columns);
            });
          },
          "name"_a, "text"_a, "begin"_a, "lines_before"_a, "format"_a, "columns"_a)
      .def(
          "add_edges",
          [](Converter& self, const NodeIdArray& src, const NodeIdArray& dst,
             const std::optional<InputArray<float>>& weight,
             const std::optional<InputArray<std::int64_t>>& time) {
            const auto weights = weight ? as_span(*weight) : std::span<const float>();
            const auto times = time ? as_span(*time) : std::span<const std::int64_t>();
            const auto from = as_span(src), to = as_span(dst);
            self.use(
                [&](EdgeConverter& converter) { converter.add_edges(from, to, weights, times); });
          },
          "src"_a.noconvert(), "dst"_a.noconvert(), "weight"_a.noconvert().none(),
          "time"_a.noconvert().none())
      .def(
          "finish",
          [](Converter& self, const nb::bytes& path) {
            const std::string name = path_of(path);
            return self.use([&](EdgeConverter& converter) { return converter.finish(name); });
          },
          "path"_a)
      .def(
          "finish_records",
          [](Converter& self, const nb::bytes& path, std::uint64_t other_bad_lines,
             std::uint64_t origin) {
            const std::string name = path_of(path);
            self.use([&](EdgeConverter& converter) {
              converter.finish_records(name, other_bad_lines, origin);
            });
          },
          "path"_a, "other_bad_lines"_a, "origin"_a)
      .def("done", [](const Converter& self) { return self.look().done(); });
}

}  // namespace

void bind_convert(nb::module_& m) {
  bind_text(m);
  bind_labels(m);
  bind_edge_converter(m);
}

}  // namespace gz
