#include "core/base/team.h"

#include <chrono>
#include <thread>
#include <utility>

#include "core/base/parallel.h"
#include "core/base/spin.h"
#include "core/base/word_wait.h"

namespace gz {
namespace {

// Of a leader that waits for items which take long.
constexpr auto kLookAgain = std::chrono::microseconds(200);

}  // namespace

void with_team(std::size_t threads, const std::function<void(Team&)>& lead) {
  Team team(threads < usable_threads() ? threads : usable_threads());
  if (team.size() <= 1) return lead(team);
  const auto leader = std::this_thread::get_id();
  std::atomic<std::size_t> followers{0};
  parallel_chunks(
      team.size(), 1,
      [&](std::size_t, std::size_t) {
        if (std::this_thread::get_id() != leader) return team.follow(1 + followers++);
        if (team.stage_ == Team::kOver) return;  // nobody took the others' places
        try {
          lead(team);
        } catch (...) {
          team.end();
          throw;
        }
        team.end();
      },
      team.size());
}

void Team::run(std::size_t count, const Body& body) {
  if (count == 0) return;
  count_ = count;
  body_ = &body;
  next_.store(0, std::memory_order_relaxed);
  stop_.store(false, std::memory_order_relaxed);
  const std::uint32_t opened = stage_.load(std::memory_order_relaxed) + 1;
  const bool is_shared = size_ > 1 && count > 1;
  if (is_shared) {
    stage_.store(opened);
    wake_all(stage_);
  }
  std::exception_ptr interrupt;
  try {
    work(0);
  } catch (...) {
    interrupt = std::current_exception();
    stop_ = true;
  }
  if (is_shared) {
    // A follower counts itself before it looks whether the loop is still open, and this is asked in
    // the reverse order: either it is seen here, or it sees that it came too late.
    stage_.store(opened + 1);
    while (!spin_until([&] { return num_active_.load() == 0; })) {
      try {
        check_interrupt();
      } catch (...) {
        interrupt = std::current_exception();
        stop_ = true;
      }
      std::this_thread::sleep_for(kLookAgain);
    }
  }
  body_ = nullptr;
  const std::exception_ptr error = std::exchange(error_, nullptr);
  if (interrupt) std::rethrow_exception(interrupt);
  if (error) std::rethrow_exception(error);
}

// Throws only what check_interrupt() throws. An item that was begun ends, and they are begun in
// order: so the lowest error is the same for any number of threads.
void Team::work(std::size_t member) {
  while (!stop_.load(std::memory_order_relaxed)) {
    const std::size_t item = next_.fetch_add(1, std::memory_order_relaxed);
    if (item >= count_) return;
    try {
      (*body_)(item, member);
    } catch (const GivenUp&) {
      stop_ = true;  // the error is that of the leader, who was interrupted
    } catch (...) {
      stop_ = true;
      if (member == 0 && is_interrupted()) throw;
      const std::lock_guard lock(mutex_);
      if (!error_ || item < error_item_) {
        error_ = std::current_exception();
        error_item_ = item;
      }
    }
    check_interrupt();
  }
}

void Team::follow(std::size_t member) {
  std::uint32_t seen = 0;
  while ((seen = wait_for_loop(seen)) != kOver) {
    num_active_.fetch_add(1);
    if (stage_.load() == seen) {
      try {
        work(member);
      } catch (const GivenUp&) {
        stop_ = true;
      }
    }
    num_active_.fetch_sub(1);
  }
}

// The stage of a loop that began after the stage `after`.
std::uint32_t Team::wait_for_loop(std::uint32_t after) const {
  while (true) {
    const std::uint32_t stage = stage_.load();
    if (stage == kOver || (stage % 2 == 1 && stage != after)) return stage;
    if (!spin_until([&] { return stage_.load() != stage; })) sleep_while(stage_, stage);
  }
}

void Team::end() {
  stage_.store(kOver);
  wake_all(stage_);
}

}  // namespace gz
