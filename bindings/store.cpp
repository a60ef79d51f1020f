#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>

#include "bindings/arrays.h"
#include "bindings/bind.h"
#include "core/store/adjacency.h"
#include "core/store/features.h"
#include "core/store/index_reader.h"
#include "core/store/neighbor_counts.h"
#include "core/store/page_requests.h"
#include "core/store/topology.h"
#include "core/store/verify.h"

namespace gz {

using namespace nb::literals;

namespace {

// The ids of one array of an index: those of one node, or all of them.
ReadOnlyArray ids(const Topology& g, const std::byte* stored, IdWidth width,
                  std::optional<EdgeRange> range) {
  const EdgeRange part = range.value_or(EdgeRange{0, g.num_edges()});
  const Dtype dtype = id_dtype(width);
  return mapped_array<ReadOnlyArray>(
      g.mapping(), stored + static_cast<std::size_t>(part.begin) * item_size(dtype), dtype,
      {static_cast<std::size_t>(part.size())});
}

// The same for weights and times, which a graph may lack.
template <class Item>
std::optional<ReadOnlyVector<Item>> values(const Topology& g, std::span<const Item> stored,
                                           std::optional<EdgeRange> range) {
  if (stored.data() == nullptr) return std::nullopt;
  const EdgeRange part = range.value_or(EdgeRange{0, g.num_edges()});
  return mapped_vector(g.mapping(), stored.subspan(static_cast<std::size_t>(part.begin),
                                                   static_cast<std::size_t>(part.size())));
}

void bind_topology(nb::module_& m) {
  nb::enum_<Advice>(m, "Advice")
      .value("NORMAL", Advice::kNormal)
      .value("RANDOM", Advice::kRandom)
      .value("SEQUENTIAL", Advice::kSequential);

  nb::enum_<Direction>(m, "Direction").value("OUT", Direction::kOut).value("IN", Direction::kIn);
  nb::class_<EdgeRange>(m, "EdgeRange")
      .def_ro("begin", &EdgeRange::begin)
      .def_ro("end", &EdgeRange::end);

  nb::class_<Topology>(m, "Topology")
      .def(
          "__init__",
          [](Topology* self, const nb::bytes& path) {
            const std::string name = path_of(path);
            without_gil([&] { new (self) Topology(name); });
          },
          "path"_a)
      .def_prop_ro("num_src_nodes", [](const Topology& g) { return g.layout().num_src_nodes; })
      .def_prop_ro("num_dst_nodes", [](const Topology& g) { return g.layout().num_dst_nodes; })
      .def_prop_ro("num_edges", [](const Topology& g) { return g.layout().num_edges; })
      .def_prop_ro("num_input_edges", [](const Topology& g) { return g.layout().num_input_edges; })
      .def_prop_ro("directed", [](const Topology& g) { return g.layout().directed; })
      .def_prop_ro("bipartite", [](const Topology& g) { return g.layout().bipartite; })
      .def_prop_ro("sorted", [](const Topology& g) { return g.layout().sorted; })
      .def_prop_ro("is_graphzero02", [](const Topology& g) { return g.layout().sections.empty(); })
      .def_prop_ro("fingerprint", [](const Topology& g) { return g.layout().fingerprint; })
      .def_prop_ro("file_size", [](const Topology& g) { return g.mapping()->size(); })
      .def("has", &Topology::has, "direction"_a)
      .def("resident_bytes",
           [](const Topology& g) {
             return without_gil([&] { return g.mapping()->resident_bytes(); });
           })
      .def(
          "drawn_from",
          [](const Topology& g, Direction direction, bool edge_ids, bool weights, bool times) {
            std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;
            for (const ByteRange& range : g.drawn_from(direction, edge_ids, weights, times))
              parts.emplace_back(range.offset, range.length);
            return parts;
          },
          "direction"_a, "edge_ids"_a, "weights"_a, "times"_a)
      .def(
          "resident_part",
          [](const Topology& g, std::uint64_t offset, std::uint64_t length) {
            return without_gil([&] { return g.mapping()->resident_bytes(offset, length); });
          },
          "offset"_a, "length"_a)
      .def(
          "request_part",
          [](const Topology& g, std::uint64_t offset, std::uint64_t length) {
            without_gil([&] { PageRequests().touch(g.mapping()->data() + offset, length); });
          },
          "offset"_a, "length"_a)
      .def("check_intact", [](const Topology& g) { g.mapping()->check_intact(); })
      .def("preload", [](const Topology& g) { without_gil([&] { g.mapping()->preload(); }); })
      .def(
          "check_index",
          [](const Topology& g, Direction direction) {
            without_gil([&] { check_index(g, direction); });
          },
          "direction"_a)
      .def("edges_of", &Topology::edges_of, "direction"_a, "node"_a)
      .def(
          "degrees",
          [](const Topology& g, Direction direction, const NodeIdArray& nodes) {
            std::vector<std::int64_t> out(nodes.size());
            without_gil([&] { g.degrees(direction, as_span(nodes), out); });
            return owned_array(std::move(out));
          },
          "direction"_a, "nodes"_a.noconvert())
      .def(
          "has_edges",
          [](const Topology& g, const NodeIdArray& src, const NodeIdArray& dst) {
            return owned_array(
                without_gil([&] { return has_edges(g, as_span(src), as_span(dst)); }));
          },
          "src"_a.noconvert(), "dst"_a.noconvert())
      .def(
          "indptr",
          [](const Topology& g, Direction direction) {
            return mapped_vector(g.mapping(), g.index(direction).indptr);
          },
          "direction"_a)
      .def(
          "indices",
          [](const Topology& g, Direction direction, std::optional<EdgeRange> range) {
            return ids(g, g.index(direction).indices, g.layout().id_width, range);
          },
          "direction"_a, "range"_a = nb::none())
      .def(
          "edge_ids",
          [](const Topology& g, Direction direction,
             std::optional<EdgeRange> range) -> std::optional<ReadOnlyArray> {
            const std::byte* const stored = g.index(direction).edge_ids;
            if (stored == nullptr) return std::nullopt;
            return ids(g, stored, g.layout().edge_id_width, range);
          },
          "direction"_a, "range"_a = nb::none())
      .def(
          "weights",
          [](const Topology& g, Direction direction, std::optional<EdgeRange> range) {
            return values(g, g.index(direction).weights, range);
          },
          "direction"_a, "range"_a = nb::none())
      .def(
          "times",
          [](const Topology& g, Direction direction, std::optional<EdgeRange> range) {
            return values(g, g.index(direction).times, range);
          },
          "direction"_a, "range"_a = nb::none());
}

std::vector<std::size_t> shape_of(const Features& f) {
  return {f.layout().shape.begin(), f.layout().shape.end()};
}

template <class Array>
Array tensor(const Features& f, MappedFile::Mode mode, Advice advice) {
  const auto mapping = f.view(mode, advice);
  mapping->check_intact();
  return mapped_array<Array>(mapping, mapping->data() + f.layout().data_offset, f.layout().dtype,
                             shape_of(f));
}

void bind_features(nb::module_& m) {
  nb::class_<Features>(m, "Features")
      .def(
          "__init__",
          [](Features* self, const nb::bytes& path) {
            const std::string name = path_of(path);
            without_gil([&] { new (self) Features(name); });
          },
          "path"_a)
      .def_prop_ro(
          "shape", [](const Features& f) { return nb::tuple(nb::cast(shape_of(f))); },
          nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro("dtype", [](const Features& f) { return f.layout().dtype; })
      .def_prop_ro("row_bytes", &Features::row_bytes)
      .def_prop_ro("quantised",
                   [](const Features& f) { return f.layout().scale_offset.has_value(); })
      .def_prop_ro("reordered", &Features::is_reordered)
      .def("row_map",
           [](const Features& f) -> std::optional<ReadOnlyArray> {
             const auto& map = f.layout().row_map;
             if (!map) return std::nullopt;
             f.mapping()->check_intact();
             return mapped_array<ReadOnlyArray>(f.mapping(), f.mapping()->data() + map->offset,
                                                id_dtype(map->width),
                                                {static_cast<std::size_t>(f.num_rows())});
           })
      .def(
          "scales_of",
          [](const Features& f, const NodeIdArray& ids) {
            return owned_array(without_gil([&] {
              std::vector<float> scales(ids.size());
              f.scales_of(as_span(ids), scales);
              return scales;
            }));
          },
          "ids"_a.noconvert())
      .def("scales",
           [](const Features& f) {
             f.mapping()->check_intact();
             return mapped_vector(f.mapping(), f.scales());
           })
      .def_prop_ro("is_graphzero02", [](const Features& f) { return f.layout().sections.empty(); })
      .def_prop_ro("fingerprint", [](const Features& f) { return f.layout().fingerprint; })
      .def_prop_ro("file_size", [](const Features& f) { return f.mapping()->size(); })
      .def("resident_bytes",
           [](const Features& f) {
             return without_gil([&] { return f.mapping()->resident_bytes(); });
           })
      // What is read at random to find a row and its scale, through the page cache.
      .def_prop_ro("lookup_bytes",
                   [](const Features& f) {
                     const auto& map = f.layout().row_map;
                     const auto rows = static_cast<std::uint64_t>(f.num_rows());
                     return f.scales().size_bytes() +
                            (map ? rows * static_cast<std::uint64_t>(map->width) : 0);
                   })
      .def("check_intact", [](const Features& f) { f.mapping()->check_intact(); })
      .def(
          "writable_tensor",
          [](const Features& f, Advice advice) {
            return tensor<AnyArray>(f, MappedFile::Mode::kCopyOnWrite, advice);
          },
          "advice"_a)
      .def(
          "read_only_tensor",
          [](const Features& f, Advice advice) {
            return tensor<ReadOnlyArray>(f, MappedFile::Mode::kReadOnly, advice);
          },
          "advice"_a)
      .def(
          "row",
          [](const Features& f, std::int64_t id) {
            return owned_array(without_gil([&] { return f.read_row(id); }));
          },
          "id"_a);
}

}  // namespace

void bind_store(nb::module_& m) {
  bind_topology(m);
  bind_features(m);
  m.def(
      "neighbor_counts",
      [](const Topology& graph, Direction direction) {
        return owned_array(without_gil([&] { return neighbor_counts(graph, direction); }));
      },
      "graph"_a, "direction"_a);
  nb::class_<VerifyProgress>(m, "VerifyProgress")
      .def(nb::init<>())
      .def("bytes", [](const VerifyProgress& progress) { return progress.bytes.load(); });
  nb::class_<Check>(m, "Check").def_ro("name", &Check::name).def_ro("problem", &Check::problem);
  m.def(
      "verify_graph",
      [](const nb::bytes& path, VerifyProgress& progress) {
        const std::string name = path_of(path);
        return without_gil([&] { return verify_graph(name, progress); });
      },
      "path"_a, "progress"_a);
  m.def(
      "verify_features",
      [](const nb::bytes& path, VerifyProgress& progress) {
        const std::string name = path_of(path);
        return without_gil([&] { return verify_features(name, progress); });
      },
      "path"_a, "progress"_a);
}

}  // namespace gz
