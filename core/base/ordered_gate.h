// Numbered tasks that run at the same time pass one by one, in order.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

namespace gz {

// For the chunks of a parallel call, which are started in order: when a chunk waits, all lower ones
// are running, so its turn comes. Between wait() and pass() a chunk is alone.
class OrderedGate {
 public:
  // Never reaches a user: the task that abandoned has the lower number, so its own error wins.
  struct Abandoned : std::exception {
    const char* what() const noexcept override { return "an earlier task failed"; }
  };

  // Throws Abandoned if a lower task gave up.
  void wait(std::size_t task) {
    // Short tasks pass each other in less time than it takes to fall asleep and wake up.
    for (int spin = 0; spin < kSpins; ++spin) {
      if (next_.load(std::memory_order_acquire) == task) return;
      std::this_thread::yield();
    }
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return next_ == task || (failed_ && *failed_ < task); });
    if (next_ != task) throw Abandoned();
  }

  void pass(std::size_t task) {
    const std::lock_guard lock(mutex_);
    next_ = task + 1;
    moved_.notify_all();
  }

  // Whoever comes later need not wait any more. Passing later than this has no effect.
  void abandon(std::size_t task) {
    const std::lock_guard lock(mutex_);
    failed_ = std::min(failed_.value_or(task), task);
    moved_.notify_all();
  }

 private:
  static constexpr int kSpins = 200;

  std::mutex mutex_;
  std::condition_variable moved_;
  std::atomic<std::size_t> next_{0};
  std::optional<std::size_t> failed_;
};

}  // namespace gz
