#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/team.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

struct WithThreads {
  explicit WithThreads(int count) { set_num_threads(count); }
  ~WithThreads() { set_num_threads(0); }
};

TEST(a_team_does_every_item_of_every_loop_once) {
  for (const int threads : {1, 2, 8}) {
    const WithThreads with(threads);
    with_team(8, [&](Team& team) {
      EXPECT(team.size() == static_cast<std::size_t>(threads));
      for (const std::size_t count : {0u, 1u, 7u, 1000u, 3u}) {
        std::vector<int> done(count, 0);
        for (int round = 0; round < 20; ++round) {
          team.run(count, [&](std::size_t i, std::size_t member) {
            ++done[i];
            EXPECT(member < team.size());
          });
        }
        for (const int times : done) EXPECT(times == 20);
      }
    });
  }
}

TEST(no_two_threads_of_a_team_have_the_same_number) {
  const WithThreads with(6);
  with_team(6, [](Team& team) {
    std::vector<std::atomic<int>> inside(team.size());
    std::atomic<int> wrong{0};
    for (int round = 0; round < 50; ++round) {
      team.run(200, [&](std::size_t, std::size_t member) {
        if (inside[member]++ != 0) ++wrong;
        --inside[member];
      });
    }
    EXPECT(wrong == 0);
  });
}

TEST(what_one_loop_of_a_team_wrote_the_next_one_reads) {
  const WithThreads with(8);
  with_team(8, [](Team& team) {
    std::vector<std::size_t> items(5000, 1), sums(5000);
    for (int round = 0; round < 30; ++round) {
      team.run(items.size(), [&](std::size_t i, std::size_t) {
        sums[i] = items[i] + items[(i * 7919) % items.size()];
      });
      std::swap(items, sums);
    }
    for (const std::size_t item : items) EXPECT(item == std::size_t{1} << 30);
  });
}

TEST(the_lowest_error_of_a_loop_reaches_the_leader_and_the_team_goes_on) {
  for (const int threads : {1, 2, 8}) {
    const WithThreads with(threads);
    with_team(8, [](Team& team) {
      for (int round = 0; round < 50; ++round) {
        const std::string message = test::message_of([&] {
          team.run(300, [](std::size_t i, std::size_t) {
            if (i >= 17) throw std::runtime_error("item " + std::to_string(i));
          });
        });
        EXPECT(message == "item 17");
        std::atomic<int> done{0};
        team.run(100, [&](std::size_t, std::size_t) { ++done; });
        EXPECT(done == 100);
      }
    });
  }
}

TEST(an_error_of_the_leader_ends_its_team) {
  const WithThreads with(8);
  for (int round = 0; round < 50; ++round) {
    const std::string message = test::message_of(
        [] { with_team(8, [](Team&) { throw std::runtime_error("the leader's"); }); });
    EXPECT(message == "the leader's");
  }
}

TEST(a_team_inside_of_a_parallel_call_is_one_thread) {
  const WithThreads with(4);
  std::atomic<int> large{0}, done{0};
  parallel_for(16, [&](std::size_t) {
    with_team(4, [&](Team& team) {
      large += team.size() != 1;
      team.run(10, [&](std::size_t, std::size_t) { ++done; });
    });
  });
  EXPECT(large == 0);
  EXPECT(done == 160);
}

TEST(eight_threads_may_lead_teams_at_once) {
  const WithThreads with(4);
  std::vector<std::thread> leaders;
  std::atomic<std::size_t> right{0};
  for (int l = 0; l < 8; ++l) {
    leaders.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        with_team(4, [&](Team& team) {
          std::atomic<std::size_t> sum{0};
          for (int loop = 0; loop < 4; ++loop)
            team.run(100, [&](std::size_t i, std::size_t) { sum += i; });
          if (sum == 4 * 4950) ++right;
        });
      }
    });
  }
  for (std::thread& leader : leaders) leader.join();
  EXPECT(right == 400);
}

// A thread that sleeps between two loops is woken.
TEST(a_team_whose_leader_is_slow_is_there_for_the_next_loop) {
  const WithThreads with(4);
  with_team(4, [](Team& team) {
    for (int loop = 0; loop < 3; ++loop) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      std::vector<std::atomic<int>> seen(team.size());
      const auto all_came = [&] {
        for (const auto& member : seen) {
          if (member == 0) return false;
        }
        return true;
      };
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (!all_came() && std::chrono::steady_clock::now() < deadline) {
        team.run(64, [&](std::size_t, std::size_t member) {
          ++seen[member];
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        });
      }
      EXPECT(all_came());
    }
  });
}

std::atomic<bool> interrupt_now{false};

TEST(a_leader_that_is_interrupted_ends_the_loop) {
  const WithThreads with(4);
  set_interrupt_check([] {
    if (interrupt_now.exchange(false)) throw std::runtime_error("interrupted by the user");
  });
  std::atomic<int> begun{0};
  const std::string message = test::message_of([&] {
    with_team(4, [&](Team& team) {
      team.run(100000, [&](std::size_t i, std::size_t) {
        if (i == 100) interrupt_now = true;
        ++begun;
        // Not a sleep, which may take no time at all, or a hundred times as long, on other systems.
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
        while (std::chrono::steady_clock::now() < until) {
        }
        check_interrupt();
      });
    });
  });
  set_interrupt_check(nullptr);
  EXPECT(message == "interrupted by the user");
  EXPECT(begun < 100000);
}

// A leader that has nothing left to do hears it while it waits for the others.
TEST(a_leader_that_is_interrupted_while_it_waits_ends_the_loop) {
  const WithThreads with(4);
  set_interrupt_check([] {
    if (interrupt_now.exchange(false)) throw std::runtime_error("interrupted by the user");
  });
  std::atomic<bool> was_followed{false};
  const std::string message = test::message_of([&] {
    with_team(4, [&](Team& team) {
      team.run(64, [&](std::size_t i, std::size_t member) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (i < 60) return;
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        if (member == 0) {
          // However slow the others are, one of them has an item when the leader has none left.
          while (!was_followed && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::yield();
          }
          return;
        }
        was_followed = true;
        interrupt_now = true;
        while (std::chrono::steady_clock::now() < deadline) check_interrupt();
      });
    });
  });
  set_interrupt_check(nullptr);
  EXPECT(message == "interrupted by the user");
  EXPECT(was_followed);
}

}  // namespace
}  // namespace gz
