#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/error.h"
#include "core/base/machine.h"
#include "tests/cpp/check.h"
#include "tests/cpp/platform.h"
#include "tests/cpp/scratch_folder.h"

namespace gz {
namespace {

namespace fs = std::filesystem;

// A folder that looks like "/" to the functions under test.
class FakeRoot {
 public:
  void write(const std::string& name, const std::string& text) const {
    if (!test::kIsLinux) SKIP("control groups are Linux's");
    const fs::path target = folder_.path() / name;
    fs::create_directories(target.parent_path());
    std::ofstream(target) << text;
  }
  std::string path() const { return folder_.path().string(); }

 private:
  ScratchFolder folder_;
};

TEST(version_2_limits_are_the_tightest_of_all_ancestors) {
  const FakeRoot root;
  root.write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.write("proc/self/cgroup", "0::/a/b\n");
  root.write("sys/fs/cgroup/a/memory.max", "1000\n");
  root.write("sys/fs/cgroup/a/memory.current", "600\n");
  root.write("sys/fs/cgroup/a/memory.stat", "anon 100\nfile 500\n");
  root.write("sys/fs/cgroup/a/b/memory.max", "max\n");
  root.write("sys/fs/cgroup/a/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
  const CgroupMemory memory = cgroup_memory(root.path());
  EXPECT(memory.limit == 1000u);
  EXPECT(memory.used == 600u);
  EXPECT(memory.page_cache == 500u);
  EXPECT(cgroup_cores(root.path()) == 1.5);
}

TEST(memory_that_cannot_be_taken_back_is_not_left_in_a_group) {
  const FakeRoot root;
  root.write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.write("proc/self/cgroup", "0::/a\n");
  root.write("sys/fs/cgroup/a/memory.max", "1000\n");
  root.write("sys/fs/cgroup/a/memory.current", "600\n");
  root.write("sys/fs/cgroup/a/memory.stat", "anon 100\nfile 500\nshmem 200\n");
  const CgroupMemory memory = cgroup_memory(root.path());
  EXPECT(memory.page_cache == 300u);
  EXPECT(memory.left == 700u);
}

TEST(others_in_a_larger_group_above_leave_less_than_our_own_limit) {
  const FakeRoot root;
  root.write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.write("proc/self/cgroup", "0::/a/b\n");
  root.write("sys/fs/cgroup/a/memory.max", "1000\n");
  root.write("sys/fs/cgroup/a/memory.current", "950\n");
  root.write("sys/fs/cgroup/a/memory.stat", "anon 940\nfile 10\n");
  root.write("sys/fs/cgroup/a/b/memory.max", "800\n");
  root.write("sys/fs/cgroup/a/b/memory.current", "100\n");
  root.write("sys/fs/cgroup/a/b/memory.stat", "anon 100\nfile 0\n");
  const CgroupMemory memory = cgroup_memory(root.path());
  EXPECT(memory.limit == 800u);
  EXPECT(memory.left == 60u);
}

TEST(version_1_limits_are_found_beside_an_empty_version_2) {
  const FakeRoot root;
  root.write("proc/self/mountinfo",
             "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
             "32 23 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
             "33 23 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  root.write("proc/self/cgroup", "4:memory:/job\n1:cpu,cpuacct:/job\n0::/\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4096\n");
  root.write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "100\n");
  root.write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  const CgroupMemory memory = cgroup_memory(root.path());
  EXPECT(memory.limit == 4096u);
  EXPECT(memory.used == 100u);
  EXPECT(memory.left == 3996u);
  EXPECT(!cgroup_cores(root.path()));
}

TEST(a_container_that_mounts_only_its_own_group_sees_its_limit) {
  const FakeRoot root;
  root.write("proc/self/mountinfo",
             "30 23 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.write("proc/self/cgroup", "0::/docker/x/inner\n");
  root.write("sys/fs/cgroup/memory.max", "5000\n");
  root.write("sys/fs/cgroup/inner/memory.max", "7000\n");
  EXPECT(cgroup_memory(root.path()).limit == 5000u);
}

TEST(a_group_beside_the_mounted_one_is_not_taken_for_one_below_it) {
  const FakeRoot root;
  root.write("proc/self/mountinfo",
             "30 23 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.write("proc/self/cgroup", "0::/docker/xy\n");
  root.write("sys/fs/cgroup/memory.max", "5000\n");
  EXPECT(cgroup_memory(root.path()).limit == 5000u);
  root.write("proc/self/cgroup", "0::no path\n");
  EXPECT(cgroup_memory(root.path()).limit == 5000u);
}

TEST(a_quota_of_more_cores_than_can_be_counted_limits_nothing) {
  const FakeRoot root;
  root.write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.write("proc/self/cgroup", "0::/\n");
  root.write("sys/fs/cgroup/cpu.max", "17000000000000 1000\n");
  EXPECT(usable_cores(root.path()) == usable_cores(FakeRoot().path()));
}

TEST(no_control_groups_mean_no_limit) {
  const FakeRoot root;
  EXPECT(!cgroup_memory(root.path()).limit);
  EXPECT(!cgroup_cores(root.path()));
}

TEST(this_machine_answers) {
  const MemoryFacts facts = memory_facts();
  EXPECT(facts.anonymous_rss > 0);
  EXPECT(facts.ram_total >= facts.ram_available);
  EXPECT(available_memory() > 0);
  EXPECT(usable_cores() >= 1);
}

TEST(more_memory_than_there_is_is_refused_beforehand) {
  const std::string message =
      test::message_of([] { require_memory(std::uint64_t{1} << 50, "g.gl: sorting"); });
  EXPECT(message.find("g.gl: sorting needs 1073741824 MB of memory, ") == 0);
}

}  // namespace
}  // namespace gz
