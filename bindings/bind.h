// One function per file of bindings; module.cpp calls them in layer order.
#pragma once

#include <nanobind/nanobind.h>

namespace gz {

void bind_base(nanobind::module_& m);
void bind_format(nanobind::module_& m);
void bind_synth(nanobind::module_& m);
void bind_convert(nanobind::module_& m);
void bind_convert_parts(nanobind::module_& m);
void bind_convert_features(nanobind::module_& m);
void bind_store(nanobind::module_& m);
void bind_ids(nanobind::module_& m);
void bind_sample(nanobind::module_& m);
void bind_negative(nanobind::module_& m);
void bind_walk(nanobind::module_& m);
void bind_gather(nanobind::module_& m);
void bind_pipeline(nanobind::module_& m);

}  // namespace gz
