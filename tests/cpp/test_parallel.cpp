#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/base/parallel.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

struct WithThreads {
  explicit WithThreads(int count) { set_num_threads(count); }
  ~WithThreads() { set_num_threads(0); }
};

TEST(every_item_is_visited_once) {
  for (const int threads : {1, 2, 8}) {
    const WithThreads with(threads);
    for (const std::size_t count : {0u, 1u, 7u, 1000u, 100000u}) {
      std::vector<int> visits(count, 0);
      parallel_for(count, [&](std::size_t i) { ++visits[i]; });
      for (const int visit : visits) EXPECT(visit == 1);
    }
  }
}

TEST(chunks_are_no_larger_than_asked) {
  const WithThreads with(4);
  std::atomic<std::size_t> total{0}, largest{0};
  parallel_chunks(1001, 10, [&](std::size_t begin, std::size_t end) {
    total += end - begin;
    std::size_t seen = largest;
    while (end - begin > seen && !largest.compare_exchange_weak(seen, end - begin)) {
    }
  });
  EXPECT(total == 1001);
  EXPECT(largest == 10);
}

TEST(the_lowest_error_reaches_the_caller_for_any_number_of_threads) {
  for (const int threads : {1, 2, 8}) {
    const WithThreads with(threads);
    for (int round = 0; round < 50; ++round) {
      const std::string message = test::message_of([] {
        parallel_chunks(1000, 1, [](std::size_t begin, std::size_t) {
          if (begin >= 17) throw std::runtime_error("item " + std::to_string(begin));
        });
      });
      EXPECT(message == "item 17");
    }
  }
}

TEST(a_call_inside_a_call_runs_on_one_thread) {
  const WithThreads with(4);
  std::atomic<int> inner{0}, moved{0};
  parallel_for(8, [&](std::size_t) {
    const auto outer_thread = std::this_thread::get_id();
    parallel_for(100, [&](std::size_t) {
      ++inner;
      if (std::this_thread::get_id() != outer_thread) ++moved;
    });
  });
  EXPECT(inner == 800);
  EXPECT(moved == 0);
}

TEST(eight_threads_may_call_at_once) {
  const WithThreads with(4);
  std::vector<std::thread> callers;
  std::atomic<std::size_t> right{0};
  for (int c = 0; c < 8; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        std::atomic<std::size_t> sum{0};
        parallel_for(1000, [&](std::size_t i) { sum += i; });
        if (sum == 499500) ++right;
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT(right == 800);
}

TEST(an_interrupt_stops_a_long_call) {
  const WithThreads with(2);
  set_interrupt_check([] { throw std::runtime_error("interrupted"); });
  std::atomic<int> done{0};
  const std::string message = test::message_of([&] {
    parallel_chunks(100000, 1, [&](std::size_t, std::size_t) {
      ++done;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  });
  set_interrupt_check(nullptr);
  EXPECT(message == "interrupted");
  EXPECT(done < 5000);
}

TEST(an_interrupt_stops_chunks_that_ask_on_every_thread) {
  const WithThreads with(2);
  set_interrupt_check([] { throw std::runtime_error("interrupted"); });
  const std::string message = test::message_of([] {
    parallel_chunks(2, 1, [](std::size_t, std::size_t) {
      while (true) check_interrupt();
    });
  });
  set_interrupt_check(nullptr);
  EXPECT(message == "interrupted");
}

TEST(a_negative_number_of_threads_is_refused) {
  EXPECT(test::message_of([] { set_num_threads(-3); }).find("found -3") != std::string::npos);
}

}  // namespace
}  // namespace gz
