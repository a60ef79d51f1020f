// How a sample crosses to Python: lists of tuples, which python/graphzero/sampling.py names.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.h"
#include "core/sample/neighborhood.h"

namespace gz {

inline nb::object to_python(Neighborhood&& hood, bool disjoint) {
  nb::list types, relations;
  for (SampledNodes& type : hood.types) {
    const nb::object trees =
        disjoint ? nb::cast(owned_array(std::move(type.trees))) : nb::object(nb::none());
    types.append(nb::make_tuple(owned_array(std::move(type.nodes)), trees, nb::cast(type.per_hop)));
  }
  for (SampledEdges& relation : hood.relations) {
    relations.append(
        nb::make_tuple(owned_array(std::move(relation.near)), owned_array(std::move(relation.far)),
                       owned_array(std::move(relation.edges)), nb::cast(relation.per_hop)));
  }
  return nb::make_tuple(types, relations);
}

}  // namespace gz
