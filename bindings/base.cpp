#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings/arrays.h"
#include "bindings/bind.h"
#include "core/base/atomic_file.h"
#include "core/base/fault_guard.h"
#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/base/path_lock.h"
#include "core/base/random.h"

namespace gz {

using namespace nb::literals;

void bind_base(nb::module_& m) {
  // Only the main thread of the interpreter sees signals; elsewhere this is a cheap no.
  set_interrupt_check([] {
    const WithoutGil::Pause pause;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  });

  m.def("num_threads", &num_threads);
  m.def("set_num_threads", &set_num_threads, "count"_a);

  nb::enum_<Purpose>(m, "Purpose")
      .value("NEIGHBORS", Purpose::kNeighbors)
      .value("WALKS", Purpose::kWalks)
      .value("NEGATIVES", Purpose::kNegatives)
      .value("WALK_BATCHES", Purpose::kWalkBatches)
      .value("EMBEDDING_BATCHES", Purpose::kEmbeddingBatches)
      .value("RANK_SEEDS", Purpose::kRankSeeds)
      .value("INDEX_CALLS", Purpose::kIndexCalls);
  nb::class_<Key>(m, "Key")
      .def(
          "__init__", [](Key* self, std::uint64_t seed) { new (self) Key(seed, {}); }, "seed"_a)
      .def(nb::init<std::uint64_t, Purpose>(), "seed"_a, "purpose"_a)
      .def("with_word", &Key::with, "word"_a)
      .def_prop_ro("state", &Key::state);

  m.def(
      "exchange_names",
      [](const nb::bytes& one, const nb::bytes& other) {
        return exchange_names(std::string(one.c_str(), one.size()),
                              std::string(other.c_str(), other.size()));
      },
      "one"_a, "other"_a);

  m.def(
      "sync_folder",
      [](const nb::bytes& folder) {
        without_gil([path = std::string(folder.c_str(), folder.size())] { sync_folder(path); });
      },
      "folder"_a);
  nb::class_<PathLock>(m, "PathLock")
      .def(
          "__init__",
          [](PathLock* self, const nb::bytes& path, bool wait) {
            const std::string name(path.c_str(), path.size());
            without_gil([&] { new (self) PathLock(name, wait); });
          },
          "path"_a, "wait"_a)
      .def_prop_ro("is_held", &PathLock::is_held)
      .def("release", &PathLock::release);

  m.def(
      "check_intact", [](const NodeIdArray& ids) { FaultGuard::check_intact_at(ids.data()); },
      "ids"_a);

  nb::class_<MemoryFacts>(m, "MemoryFacts")
      .def_ro("anonymous_rss", &MemoryFacts::anonymous_rss)
      .def_ro("file_rss", &MemoryFacts::file_rss)
      .def_ro("peak_rss", &MemoryFacts::peak_rss)
      .def_ro("major_faults", &MemoryFacts::major_faults)
      .def_ro("device_bytes_read", &MemoryFacts::device_bytes_read)
      .def_ro("cgroup_limit", &MemoryFacts::cgroup_limit)
      .def_ro("cgroup_used", &MemoryFacts::cgroup_used)
      .def_ro("cgroup_page_cache", &MemoryFacts::cgroup_page_cache)
      .def_ro("ram_total", &MemoryFacts::ram_total)
      .def_ro("ram_available", &MemoryFacts::ram_available);
  m.def("available_memory", [] { return without_gil([] { return available_memory(); }); });
  m.def("memory_facts", [] { return without_gil([] { return memory_facts(); }); });
}

}  // namespace gz
