#include <chrono>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/stage_log.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

std::int64_t now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

TEST(a_stage_is_logged_with_its_times) {
  StageLog log;
  log.set_on(true);
  const std::int64_t before = now();
  {
    const StageLog::Range range(&log, Stage::kAssemble, 3, 77);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const std::int64_t after = now();
  const auto [events, dropped] = log.events();
  EXPECT(events.size() == 1 && dropped == 0);
  EXPECT(events[0].stage == Stage::kAssemble && events[0].thread == 3 && events[0].number == 77);
  EXPECT(before <= events[0].begin && events[0].end <= after);
  EXPECT(events[0].end - events[0].begin >= 2'000'000);
}

TEST(a_stage_that_throws_is_logged) {
  StageLog log;
  log.set_on(true);
  try {
    const StageLog::Range range(&log, Stage::kSample, 0, 0);
    throw std::runtime_error("no");
  } catch (const std::runtime_error&) {
  }
  EXPECT(log.events().events.size() == 1);
}

TEST(a_log_that_is_off_takes_nothing) {
  StageLog log;
  EXPECT(!log.is_on());
  {
    const StageLog::Range range(&log, Stage::kSample, 0, 0);
  }
  EXPECT(log.events().events.empty());
  log.set_on(true);
  {
    const StageLog::Range range(&log, Stage::kSample, 0, 1);
  }
  log.set_on(false);
  {
    const StageLog::Range range(&log, Stage::kSample, 0, 2);
  }
  const std::vector<StageEvent> events = log.events().events;
  EXPECT(events.size() == 1 && events[0].number == 1);
  {
    const StageLog::Range range(nullptr, Stage::kSample, 0, 3);
  }
}

TEST(what_began_while_a_log_was_on_is_in_it_and_nothing_else) {
  StageLog log;
  {
    const StageLog::Range early(&log, Stage::kSample, 0, 1);
    log.set_on(true);
    const StageLog::Range late(&log, Stage::kSample, 0, 2);
    log.set_on(false);
  }
  const std::vector<StageEvent> events = log.events().events;
  EXPECT(events.size() == 1 && events[0].number == 2);
}

TEST(a_full_log_drops_the_oldest_and_counts_them) {
  StageLog log(4);
  log.set_on(true);
  for (std::uint64_t i = 0; i < 4; ++i) const StageLog::Range range(&log, Stage::kRead, 0, i);
  EXPECT(log.events().dropped == 0 && log.events().events.size() == 4);
  for (std::uint64_t i = 4; i < 10; ++i) const StageLog::Range range(&log, Stage::kRead, 0, i);
  const auto [events, dropped] = log.events();
  EXPECT(dropped == 6 && events.size() == 4);
  for (std::size_t i = 0; i < events.size(); ++i) EXPECT(events[i].number == 6 + i);
}

TEST(many_threads_log_at_once_while_one_looks) {
  constexpr std::uint64_t kEach = 2000;
  StageLog log;
  log.set_on(true);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&log, thread] {
      for (std::uint64_t i = 0; i < kEach; ++i)
        const StageLog::Range range(&log, Stage::kSample, thread, i);
    });
  }
  std::size_t seen = 0;
  bool shrank = false;
  for (int look = 0; look < 50; ++look) {
    const std::size_t more = log.events().events.size();
    shrank = shrank || more < seen;
    seen = more;
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::pair<std::uint32_t, std::uint64_t>> found;
  for (const StageEvent& event : log.events().events) found.emplace(event.thread, event.number);
  EXPECT(!shrank && found.size() == 4 * kEach);
}

}  // namespace
}  // namespace gz
