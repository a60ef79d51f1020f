#include "core/base/machine.h"

#include <mach/mach.h>
#include <sys/resource.h>
#include <sys/sysctl.h>

#include <algorithm>

#include "core/base/memory_pages.h"

namespace gz {
namespace {

template <class Number>
Number value_of(const char* name, Number otherwise) {
  Number value = 0;
  std::size_t bytes = sizeof value;
  return ::sysctlbyname(name, &value, &bytes, nullptr, 0) == 0 && bytes == sizeof value ? value
                                                                                        : otherwise;
}

}  // namespace

CgroupMemory cgroup_memory(const std::string& /*root*/) { return {}; }

std::optional<double> cgroup_cores(const std::string& /*root*/) { return std::nullopt; }

int usable_cores(const std::string& /*root*/) {
  return std::max(value_of<int>("hw.activecpu", 1), 1);
}

// Faults are counted for a process only.
std::uint64_t thread_major_faults() { return 0; }

// What is free, and what can be had by dropping pages of files.
std::uint64_t available_memory() {
  vm_statistics64_data_t counts = {};
  mach_msg_type_number_t size = HOST_VM_INFO64_COUNT;
  if (::host_statistics64(::mach_host_self(), HOST_VM_INFO64,
                          reinterpret_cast<host_info64_t>(&counts), &size) != KERN_SUCCESS) {
    return 0;
  }
  const std::uint64_t pages = std::uint64_t{counts.free_count} + counts.inactive_count +
                              counts.purgeable_count + counts.speculative_count;
  return pages * machine_page();
}

MemoryFacts memory_facts() {
  MemoryFacts facts;
  task_vm_info_data_t task = {};
  mach_msg_type_number_t size = TASK_VM_INFO_COUNT;
  if (::task_info(::mach_task_self(), TASK_VM_INFO, reinterpret_cast<task_info_t>(&task), &size) ==
      KERN_SUCCESS) {
    facts.anonymous_rss = task.internal + task.compressed;
    facts.file_rss = task.external;
    facts.peak_rss = task.resident_size_peak;
  }
  rusage usage = {};
  if (::getrusage(RUSAGE_SELF, &usage) == 0)
    facts.major_faults = static_cast<std::uint64_t>(usage.ru_majflt);
  facts.ram_total = value_of<std::uint64_t>("hw.memsize", 0);
  facts.ram_available = available_memory();
  return facts;
}

}  // namespace gz
