#include "core/sample/negative.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <utility>

#include "bindings/arrays.h"
#include "bindings/bind.h"

namespace gz {

using namespace nb::literals;

void bind_negative(nb::module_& m) {
  nb::enum_<NegativeLaw>(m, "NegativeLaw")
      .value("UNIFORM", NegativeLaw::kUniform)
      .value("DEGREE", NegativeLaw::kDegree);
  nb::class_<EndLaw>(m, "EndLaw")
      .def(
          "__init__", [](EndLaw* self, NegativeLaw by) { new (self) EndLaw{by, nullptr}; }, "by"_a)
      .def(
          "__init__",
          [](EndLaw* self, const InputArray<double>& weights, const std::string& name) {
            auto kept = without_gil(
                [&] { return std::make_shared<const NodeWeights>(name, as_span(weights)); });
            new (self) EndLaw{NegativeLaw::kWeights, std::move(kept)};
          },
          "weights"_a.noconvert(), "name"_a);
  nb::class_<NegativeOptions>(m, "NegativeOptions")
      .def(nb::init<>())
      .def_rw("src", &NegativeOptions::src)
      .def_rw("dst", &NegativeOptions::dst)
      .def_rw("power", &NegativeOptions::power)
      .def_rw("exclude_edges", &NegativeOptions::exclude_edges)
      .def_rw("seed", &NegativeOptions::seed);
  m.def(
      "sample_negatives",
      [](const Topology& g, const NodeIdArray& sources, std::uint64_t amount,
         const NegativeOptions& options) {
        return owned_array(
            without_gil([&] { return sample_negatives(g, as_span(sources), amount, options); }));
      },
      "graph"_a, "sources"_a.noconvert(), "amount"_a, "options"_a);
  m.def(
      "sample_shared_negatives",
      [](const Topology& g, const NodeIdArray& sources, std::uint64_t amount,
         const NegativeOptions& options) {
        return owned_array(without_gil(
            [&] { return sample_shared_negatives(g, as_span(sources), amount, options); }));
      },
      "graph"_a, "sources"_a.noconvert(), "amount"_a, "options"_a);
  m.def(
      "sample_negative_pairs",
      [](const Topology& g, std::uint64_t count, const NegativeOptions& options) {
        NodePairs pairs = without_gil([&] { return sample_negative_pairs(g, count, options); });
        return std::pair(owned_array(std::move(pairs.src)), owned_array(std::move(pairs.dst)));
      },
      "graph"_a, "count"_a, "options"_a);
}

}  // namespace gz
