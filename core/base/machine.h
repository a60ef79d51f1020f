// What the machine and its control groups grant this process: cores and memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gz {

// All sizes in bytes. An empty value means that this system does not tell.
struct MemoryFacts {
  std::uint64_t anonymous_rss = 0;  // memory that is the process's own: what an OOM is made of
  std::uint64_t peak_rss = 0;       // the most of both at any time
  std::uint64_t file_rss = 0;      // mapped file pages: the kernel takes them back when it needs to
  std::uint64_t major_faults = 0;  // page faults that had to wait for the device
  std::optional<std::uint64_t> device_bytes_read;  // since the process started
  std::optional<std::uint64_t> cgroup_limit;       // the tightest limit above us, if there is one
  std::optional<std::uint64_t> cgroup_used;  // of the group with that limit; includes page cache
  std::optional<std::uint64_t> cgroup_page_cache;  // the part of it that can be taken back
  std::uint64_t ram_total = 0;
  std::uint64_t ram_available = 0;
};

MemoryFacts memory_facts();

// Page faults of the calling thread that had to wait for the device; 0 where the system does not
// tell. A fraction of a microsecond.
std::uint64_t thread_major_faults();

struct CgroupMemory {
  std::optional<std::uint64_t> limit;
  std::optional<std::uint64_t> used;        // page cache included
  std::optional<std::uint64_t> page_cache;  // the part of `used` that the kernel can take back
  // What can still be allocated: the least that any group above us leaves of its limit. Not always
  // the one with the tightest limit, as others may fill a larger one.
  std::optional<std::uint64_t> left;
};

// Versions 1 and 2, through every ancestor. `root` stands in for "/" in tests. On Windows the job
// object is what a control group is on Linux; macOS has none.
CgroupMemory cgroup_memory(const std::string& root = "");

// What can still be allocated: available RAM, or what the control group leaves of its limit.
std::uint64_t available_memory();

// Throws MemoryShortage if `bytes` exceed available_memory(). `job` opens the message.
void require_memory(std::uint64_t bytes, const std::string& job);

// Cores of CPU time per second that the control group's quota allows; empty without a quota.
std::optional<double> cgroup_cores(const std::string& root = "");

// Threads worth starting: the affinity mask, cut by the quota. At least 1.
int usable_cores(const std::string& root = "");

}  // namespace gz
