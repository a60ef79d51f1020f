#include "core/base/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string_view>
#include <vector>

#include "core/base/parse_number.h"

namespace gz {
namespace {

std::optional<std::uint64_t> to_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = parse_number(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

// Of a small file such as those in /proc; none if it cannot be read.
std::vector<std::string> lines_of(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  std::vector<std::string> lines;
  if (!file) return lines;
  std::string line;
  for (int c = std::fgetc(file.get()); c != EOF; c = std::fgetc(file.get())) {
    if (c != '\n') {
      line += static_cast<char>(c);
    } else {
      lines.push_back(std::move(line));
      line.clear();
    }
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::optional<std::string> first_line(const std::string& path) {
  auto lines = lines_of(path);
  if (lines.empty()) return std::nullopt;
  return std::move(lines.front());
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; (begin = line.find_first_not_of(' ', begin)) != line.npos;) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

// The value of a line like "RssAnon:   1234 kB" or "file 1234", in its own unit.
std::optional<std::uint64_t> field_of(const std::string& path, std::string_view name) {
  for (const std::string& line : lines_of(path)) {
    if (!line.starts_with(name) || line.size() <= name.size()) continue;
    if (line[name.size()] != ':' && line[name.size()] != ' ') continue;
    const std::size_t digit = line.find_first_of("0123456789", name.size());
    if (digit == std::string::npos) return std::nullopt;
    return to_number(std::string_view(line).substr(digit));
  }
  return std::nullopt;
}

std::uint64_t kilobytes_of(const std::string& path, std::string_view name) {
  return field_of(path, name).value_or(0) * 1024;
}

// Memory of the machine, in bytes.
struct Ram {
  std::uint64_t total = 0;
  std::uint64_t available = 0;
};

// A chroot or a bare sandbox may have no /proc. The system call does not count the page cache,
// which could be taken back, so it tells less than there is.
Ram machine_memory() {
  const auto total = field_of("/proc/meminfo", "MemTotal");
  const auto available = field_of("/proc/meminfo", "MemAvailable");
  if (total && available) return {*total * 1024, *available * 1024};
  struct sysinfo facts = {};
  if (::sysinfo(&facts) != 0) return {};
  const std::uint64_t unit = facts.mem_unit;
  return {facts.totalram * unit, (facts.freeram + facts.bufferram) * unit};
}

bool has_word(std::string_view list, std::string_view word) {
  while (true) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    if (comma == list.npos) return false;
    list.remove_prefix(comma + 1);
  }
}

struct Mount {
  std::string root;   // which part of the hierarchy is mounted
  std::string point;  // where
};

// `controller` empty: the version-2 hierarchy.
std::optional<Mount> find_mount(const std::string& root, std::string_view controller) {
  for (const std::string& line : lines_of(root + "/proc/self/mountinfo")) {
    // Root and mount point are the fourth and fifth word; type, source and options follow a dash.
    const auto words = words_of(line);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 5 || words.end() - dash < 4) continue;
    const bool wanted = controller.empty() ? dash[1] == "cgroup2"
                                           : dash[1] == "cgroup" && has_word(dash[3], controller);
    if (wanted) return Mount{std::string(words[3]), std::string(words[4])};
  }
  return std::nullopt;
}

// The folders of our group and all its ancestors, innermost first.
std::vector<std::string> group_folders(const std::string& root, std::string_view controller) {
  const auto mount = find_mount(root, controller);
  if (!mount) return {};
  for (const std::string& line : lines_of(root + "/proc/self/cgroup")) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    if (controller.empty() ? !controllers.empty() : !has_word(controllers, controller)) continue;
    std::string path = line.substr(second + 1);
    const bool below =
        path == mount->root || path.starts_with(mount->root + "/");  // not beside: /a and /ab
    if (mount->root != "/" && below) path.erase(0, mount->root.size());
    if (path == "/") path.clear();
    std::vector<std::string> folders;
    while (true) {
      folders.push_back(root + mount->point + path);
      if (path.empty()) return folders;
      const std::size_t slash = path.rfind('/');
      path.erase(slash == path.npos ? 0 : slash);
    }
  }
  return {};
}

// Version 1 writes "no limit" as a number near 2^63; anything this large is none.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;

void tighten(CgroupMemory& memory, const std::vector<std::string>& folders, const char* limit_file,
             const char* used_file, const char* cache_field, const char* shared_field) {
  for (const std::string& folder : folders) {
    const auto line = first_line(folder + "/" + limit_file);
    if (!line) continue;
    const auto limit = to_number(*line);  // "max" is not a number
    if (!limit || *limit >= kNoLimit) continue;
    const auto line_used = first_line(folder + "/" + used_file);
    const auto used = line_used ? to_number(*line_used) : std::nullopt;
    auto page_cache = field_of(folder + "/memory.stat", cache_field);
    if (page_cache) {  // files in memory, such as those of /dev/shm, have nowhere to go
      const auto shared = field_of(folder + "/memory.stat", shared_field).value_or(0);
      *page_cache -= std::min(*page_cache, shared);
    }
    if (used) {
      const std::uint64_t held = *used - std::min(*used, page_cache.value_or(0));
      const std::uint64_t left = *limit - std::min(*limit, held);
      memory.left = std::min(memory.left.value_or(left), left);
    }
    if (memory.limit && *memory.limit <= *limit) continue;
    memory.limit = limit;
    memory.used = used;
    memory.page_cache = page_cache;
  }
}

}  // namespace

CgroupMemory cgroup_memory(const std::string& root) {
  CgroupMemory memory;
  tighten(memory, group_folders(root, ""), "memory.max", "memory.current", "file", "shmem");
  tighten(memory, group_folders(root, "memory"), "memory.limit_in_bytes", "memory.usage_in_bytes",
          "total_cache", "total_shmem");
  return memory;
}

std::uint64_t thread_major_faults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_majflt);
}

std::uint64_t available_memory() {
  const std::uint64_t available = machine_memory().available;
  return std::min(available, cgroup_memory().left.value_or(available));
}

std::optional<double> cgroup_cores(const std::string& root) {
  std::optional<double> cores;
  const auto offer = [&](double quota, double period) {
    if (quota > 0 && period > 0) cores = std::min(cores.value_or(quota / period), quota / period);
  };
  for (const std::string& folder : group_folders(root, "")) {
    const auto line = first_line(folder + "/cpu.max");  // "quota period" or "max period"
    if (!line) continue;
    const auto quota = to_number(*line);
    const auto period = to_number(std::string_view(*line).substr(line->find(' ') + 1));
    if (quota && period) offer(static_cast<double>(*quota), static_cast<double>(*period));
  }
  for (const std::string& folder : group_folders(root, "cpu")) {
    const auto quota = first_line(folder + "/cpu.cfs_quota_us");  // -1: none
    const auto period = first_line(folder + "/cpu.cfs_period_us");
    if (!quota || !period || !to_number(*quota) || !to_number(*period)) continue;
    offer(static_cast<double>(*to_number(*quota)), static_cast<double>(*to_number(*period)));
  }
  return cores;
}

int usable_cores(const std::string& root) {
  int cores = 1;
  // More than 1024 CPUs need a larger mask than cpu_set_t.
  for (std::size_t capacity = 1024; capacity <= (1u << 18); capacity *= 2) {
    cpu_set_t* const mask = CPU_ALLOC(capacity);
    const std::size_t bytes = CPU_ALLOC_SIZE(capacity);
    const bool known = ::sched_getaffinity(0, bytes, mask) == 0;
    if (known) cores = CPU_COUNT_S(bytes, mask);
    CPU_FREE(mask);
    if (known) break;
  }
  if (const auto quota = cgroup_cores(root))
    cores = static_cast<int>(std::min<double>(cores, std::ceil(*quota)));
  return std::max(cores, 1);
}

MemoryFacts memory_facts() {
  MemoryFacts facts;
  facts.anonymous_rss = kilobytes_of("/proc/self/status", "RssAnon");
  facts.file_rss = kilobytes_of("/proc/self/status", "RssFile");
  facts.peak_rss = kilobytes_of("/proc/self/status", "VmHWM");
  struct rusage usage = {};
  if (::getrusage(RUSAGE_SELF, &usage) == 0)
    facts.major_faults = static_cast<std::uint64_t>(usage.ru_majflt);
  facts.device_bytes_read = field_of("/proc/self/io", "read_bytes");
  const CgroupMemory group = cgroup_memory();
  facts.cgroup_limit = group.limit;
  facts.cgroup_used = group.used;
  facts.cgroup_page_cache = group.page_cache;
  const Ram ram = machine_memory();
  facts.ram_total = ram.total;
  facts.ram_available = ram.available;
  return facts;
}

}  // namespace gz
