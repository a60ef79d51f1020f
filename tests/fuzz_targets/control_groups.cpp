// What the kernel and whoever set up a container tell about limits.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "core/base/machine.h"
#include "tests/fuzz_targets/fuzz.h"

// Files one after the other, a zero byte between them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::array kFiles = {
      "/proc/self/mountinfo",
      "/proc/self/cgroup",
      "/sys/fs/cgroup/memory.max",
      "/sys/fs/cgroup/memory.current",
      "/sys/fs/cgroup/memory.stat",
      "/sys/fs/cgroup/cpu.max",
      "/sys/fs/cgroup/a/memory.limit_in_bytes",
      "/sys/fs/cgroup/a/cpu.cfs_quota_us",
      "/sys/fs/cgroup/a/cpu.cfs_period_us",
  };
  static const std::string root = [] {
    const std::string made = std::filesystem::temp_directory_path();
    std::filesystem::create_directories(made + "/proc/self");
    std::filesystem::create_directories(made + "/sys/fs/cgroup/a");
    return made;
  }();
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  for (const char* const file : kFiles) {
    const std::string_view content = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(content.size() + 1, rest.size()));
    std::ofstream(root + file, std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
  }
  gz::cgroup_memory(root);
  gz::fuzz::require(gz::usable_cores(root) >= 1, "no cores");
  return 0;
}
