#include <stdlib.h>

#include <ctime>
#include <filesystem>

#include "core/base/cache_file.h"
#include "core/base/direct_file.h"
#include "core/gather/read_cost.h"
#include "tests/cpp/check.h"
#include "tests/cpp/platform.h"
#include "tests/cpp/scratch_cache.h"
#include "tests/cpp/scratch_file.h"

namespace gz {
namespace {

constexpr std::int64_t kNow = 1'800'000'000;
constexpr std::int64_t kDay = 24 * 3600;

bool near(double found, double expected) {
  return found > 0.999 * expected && found < 1.001 * expected;
}

std::string gap_message(const DirectFile& file, const char* value) {
  test::set_variable("GRAPHZERO_READ_GAP", value);
  const std::string message = test::message_of([&] { read_gap(file, 4096); });
  test::unset_variable("GRAPHZERO_READ_GAP");
  return message;
}

std::uint64_t gap_of(const DirectFile& file, const char* value) {
  test::set_variable("GRAPHZERO_READ_GAP", value);
  const std::uint64_t gap = read_gap(file, 4096);
  test::unset_variable("GRAPHZERO_READ_GAP");
  return gap;
}

TEST(a_gap_is_as_wide_as_a_read_is_dear) {
  EXPECT((ReadCost{2.9e-6, 1.13e-6 / 4096}.gap() == 8192));  // 2.6 blocks
  EXPECT((ReadCost{0.9e-6, 1.0e-6 / 4096}.gap() == 0));      // less than a block
  EXPECT((ReadCost{8e-3, 4e-9}.gap() == 256 << 10));         // a disk that turns
  EXPECT((ReadCost{0, 1e-10}.gap() == 0));
  EXPECT(ReadCost{}.gap() == 8192);
}

TEST(a_cost_is_the_line_through_two_times) {
  const ReadCost cost = *cost_of({4096, 65536, 4e-6, 21e-6});
  EXPECT(near(cost.per_byte, 17e-6 / 61440));
  EXPECT(near(cost.per_read + 4096 * cost.per_byte, 4e-6));
  EXPECT(near(cost.per_read + 65536 * cost.per_byte, 21e-6));
}

TEST(times_that_no_line_explains_give_the_narrowest_gap_the_widest_or_none) {
  EXPECT(cost_of({4096, 65536, 1e-6, 50e-6})->gap() == 0);         // dearer than its bytes
  EXPECT(cost_of({4096, 65536, 9e-3, 8e-3})->gap() == 256 << 10);  // a disk that turns
  EXPECT(!cost_of({4096, 65536, 9e-6, 8e-6}));                     // a busy machine
}

TEST(a_small_file_has_the_common_cost) {
  test::require_direct_reads();
  const ScratchCache cache;
  const ScratchFile scratch(1 << 20);
  const File file(scratch.path());
  const DirectFile direct(file);
  EXPECT(read_cost(direct, file.size()).per_read == ReadCost{}.per_read);
  EXPECT(!read_cache_file("read_cost"));
}

TEST(a_file_with_holes_has_the_common_cost) {
  test::require_direct_reads();
  const ScratchCache cache;
  const ScratchFile scratch(1 << 20);
  std::filesystem::resize_file(scratch.path(), 64 << 20);
  const File file(scratch.path());
  const DirectFile direct(file);
  EXPECT(direct.has_holes());
  EXPECT(read_cost(direct, file.size()).per_read == ReadCost{}.per_read);
  EXPECT(!read_cache_file("read_cost"));
}

TEST(reads_of_a_device_take_time) {
  test::require_direct_reads();
  const ScratchFile scratch(32 << 20);
  const File file(scratch.path());
  const DirectFile direct(file);
  EXPECT(!direct.has_holes());
  // A machine that is too busy to measure anything is asked again.
  auto times = time_reads(direct, file.size());
  for (int i = 0; i < 20 && !times; ++i) times = time_reads(direct, file.size());
  EXPECT(times.has_value());
  if (!times) return;
  EXPECT(times->small_bytes >= 4096 && times->large_bytes == 16 * times->small_bytes);
  EXPECT(times->small_seconds > 0 && times->large_seconds > 0);
}

// The process keeps what it measured, so the file is written once, whatever happens to it.
TEST(a_measured_cost_is_left_for_the_next_process) {
  test::require_direct_reads();
  const ScratchCache cache;
  const ScratchFile scratch(17 << 20);
  const File file(scratch.path());
  const DirectFile direct(file);
  ReadCost measured;
  // A machine that is too busy to measure anything is asked again.
  for (int i = 0; i < 20 && !read_cache_file("read_cost"); ++i)
    measured = read_cost(direct, file.size());
  const auto now = static_cast<std::int64_t>(::time(nullptr));
  const auto remembered = remembered_cost(direct.device(), now);
  EXPECT(remembered && near(remembered->per_read + 1e-9, measured.per_read + 1e-9));
  EXPECT(remembered && near(remembered->per_byte, measured.per_byte));
  std::filesystem::remove(cache.file("read_cost"));
  EXPECT(read_cost(direct, file.size()).per_byte == measured.per_byte);
  EXPECT(!read_cache_file("read_cost"));
}

TEST(costs_are_remembered_by_device_for_a_week) {
  const ScratchCache cache;
  EXPECT(!remembered_cost(1, kNow));
  remember_cost(1, {5e-6, 1e-10}, kNow);
  remember_cost(2, {7e-6, 2e-10}, kNow + kDay);
  EXPECT(near(remembered_cost(1, kNow)->per_read, 5e-6));
  EXPECT(near(remembered_cost(2, kNow + 2 * kDay)->per_byte, 2e-10));
  EXPECT(!remembered_cost(3, kNow));
  EXPECT(!remembered_cost(2, kNow));  // a clock that was set back
  EXPECT(remembered_cost(1, kNow + 7 * kDay - 1).has_value());
  EXPECT(!remembered_cost(1, kNow + 7 * kDay));
  remember_cost(1, {6e-6, 1e-10}, kNow + 7 * kDay);
  EXPECT(near(remembered_cost(1, kNow + 7 * kDay)->per_read, 6e-6));
  EXPECT(read_cache_file("read_cost")->find("5e-06") == std::string::npos);
}

TEST(lines_that_are_not_understood_are_passed_over) {
  const ScratchCache cache;
  write_cache_file("read_cost",
                   "1 5e-6\n1 fast 1e-10 1800000000\n1 -5e-6 1e-10 1800000000\n"
                   "1 5e-6 0 1800000000\n1 5e-6 1e-10 1800000000 more\n\x01\xff\n"
                   "1 5e-6 1e-10 -9223372036854775808\n"
                   "2 7e-6 2e-10 1800000000\n");
  EXPECT(!remembered_cost(1, kNow));
  EXPECT(near(remembered_cost(2, kNow)->per_read, 7e-6));
  remember_cost(1, {5e-6, 1e-10}, kNow);
  EXPECT(*read_cache_file("read_cost") == "2 7e-06 2e-10 1800000000\n1 5e-06 1e-10 1800000000\n");
}

TEST(the_environment_has_the_last_word_about_the_gap) {
  test::require_direct_reads();
  const ScratchFile scratch(4096);
  const File file(scratch.path());
  const DirectFile direct(file);
  EXPECT(read_gap(direct, file.size()) == 8192);
  EXPECT(gap_of(direct, "0") == 0);
  EXPECT(gap_of(direct, "16kB") == 16384);
  EXPECT(gap_of(direct, "16 KiB") == 16384);
  EXPECT(gap_of(direct, "20000") == 16384);  // whole blocks
  EXPECT(gap_of(direct, "256k") == 256 << 10);
  for (const char* const bad : {"", "wide", "-1", "16MB", "257kB", "16 k B x", "1e4"}) {
    if (test::kIsWindows && *bad == '\0') continue;  // there it is not set then
    EXPECT(gap_message(direct, bad) ==
           std::string("environment variable GRAPHZERO_READ_GAP: expected 0 to 256kB, such as 8192 "
                       "or 16kB, found '") +
               bad + "'");
  }
}

}  // namespace
}  // namespace gz
