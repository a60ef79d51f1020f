#include "core/base/machine.h"

// clang-format off: the second needs the types of the first.
#include <windows.h>
#include <psapi.h>
// clang-format on

#include <algorithm>
#include <bit>
#include <cmath>

namespace gz {
namespace {

PROCESS_MEMORY_COUNTERS_EX process_counters() {
  PROCESS_MEMORY_COUNTERS_EX counters = {};
  counters.cb = sizeof counters;
  ::K32GetProcessMemoryInfo(::GetCurrentProcess(),
                            reinterpret_cast<PROCESS_MEMORY_COUNTERS*>(&counters), sizeof counters);
  return counters;
}

MEMORYSTATUSEX machine_memory() {
  MEMORYSTATUSEX status = {};
  status.dwLength = sizeof status;
  ::GlobalMemoryStatusEx(&status);
  return status;
}

// Of the job that this process is in.
template <class Info>
bool ask_job(JOBOBJECTINFOCLASS about, Info& info) {
  return ::QueryInformationJobObject(nullptr, about, &info, sizeof info, nullptr) != 0;
}

}  // namespace

CgroupMemory cgroup_memory(const std::string& root) {
  CgroupMemory memory;
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {};
  if (!root.empty() || !ask_job(JobObjectExtendedLimitInformation, limits)) return memory;
  const auto offer = [&](std::uint64_t limit, std::uint64_t used) {
    const std::uint64_t left = limit - std::min(limit, used);
    memory.left = std::min(memory.left.value_or(left), left);
    if (memory.limit && *memory.limit <= limit) return;
    memory.limit = limit;
    memory.used = used;
    memory.page_cache = 0;  // a job is charged for what it commits, which files are not
  };
  const DWORD flags = limits.BasicLimitInformation.LimitFlags;
  if ((flags & JOB_OBJECT_LIMIT_PROCESS_MEMORY) != 0)
    offer(limits.ProcessMemoryLimit, process_counters().PrivateUsage);
  if ((flags & JOB_OBJECT_LIMIT_JOB_MEMORY) != 0) {
    struct Usage {  // JOBOBJECT_MEMORY_USAGE_INFORMATION, which older headers lack
      std::uint64_t now, peak;
    } usage = {};
    constexpr auto kMemoryUsage = static_cast<JOBOBJECTINFOCLASS>(28);
    offer(limits.JobMemoryLimit,
          ask_job(kMemoryUsage, usage) ? usage.now : process_counters().PrivateUsage);
  }
  return memory;
}

std::optional<double> cgroup_cores(const std::string& root) {
  JOBOBJECT_CPU_RATE_CONTROL_INFORMATION rate = {};
  constexpr DWORD kHardCap =
      JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
  if (!root.empty() || !ask_job(JobObjectCpuRateControlInformation, rate) ||
      (rate.ControlFlags & kHardCap) != kHardCap) {
    return std::nullopt;
  }
  // In hundredths of a percent of the whole machine.
  const double share = static_cast<double>(rate.CpuRate) / 10'000;
  return share * static_cast<double>(::GetActiveProcessorCount(ALL_PROCESSOR_GROUPS));
}

int usable_cores(const std::string& root) {
  DWORD_PTR ours = 0, all = 0;
  int cores = 1;
  if (::GetActiveProcessorGroupCount() > 1) {  // a mask knows the 64 cores of one group
    cores = static_cast<int>(::GetActiveProcessorCount(ALL_PROCESSOR_GROUPS));
  } else if (::GetProcessAffinityMask(::GetCurrentProcess(), &ours, &all)) {
    cores = std::popcount(static_cast<std::uint64_t>(ours));
  }
  if (const auto quota = cgroup_cores(root))
    cores = static_cast<int>(std::min<double>(cores, std::ceil(*quota)));
  return std::max(cores, 1);
}

// Windows counts all faults together, those that wait for no device too.
std::uint64_t thread_major_faults() { return 0; }

// What fits into memory, and what the system will still commit to.
std::uint64_t available_memory() {
  const MEMORYSTATUSEX status = machine_memory();
  const std::uint64_t available =
      std::min<std::uint64_t>(status.ullAvailPhys, status.ullAvailPageFile);
  return std::min(available, cgroup_memory().left.value_or(available));
}

MemoryFacts memory_facts() {
  MemoryFacts facts;
  const PROCESS_MEMORY_COUNTERS_EX counters = process_counters();
  // Wine tells no private memory.
  facts.anonymous_rss = counters.PrivateUsage > 0 ? counters.PrivateUsage : counters.WorkingSetSize;
  facts.file_rss = counters.WorkingSetSize -
                   std::min<std::uint64_t>(counters.WorkingSetSize, facts.anonymous_rss);
  facts.peak_rss = counters.PeakWorkingSetSize;
  const CgroupMemory group = cgroup_memory();
  facts.cgroup_limit = group.limit;
  facts.cgroup_used = group.used;
  facts.cgroup_page_cache = group.page_cache;
  const MEMORYSTATUSEX status = machine_memory();
  facts.ram_total = status.ullTotalPhys;
  facts.ram_available = status.ullAvailPhys;
  return facts;
}

}  // namespace gz
