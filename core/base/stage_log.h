// What an engine's threads did, and when: kept only while the log is on.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace gz {

enum class Stage : std::uint8_t { kSample, kBegin, kAssemble, kRead, kFill };

struct StageEvent {
  Stage stage;
  std::uint32_t thread;  // counted from 0 among those that do the same
  std::uint64_t number;  // of the batch; of kRead the reads in flight, of kFill the part
  // Nanoseconds since 1970, of the clock that profilers' traces have: not the steady one.
  std::int64_t begin;
  std::int64_t end;
};

// Any thread may add and look.
class StageLog {
 public:
  // 8 MB, and some 40 MB of a trace's text.
  static constexpr std::size_t kMost = 1 << 18;

  // Beyond `most` events the oldest are dropped.
  explicit StageLog(std::size_t most = kMost) : most_(most) {}

  bool is_on() const { return on_.load(std::memory_order_relaxed); }

  // Off at first. What has been logged stays.
  void set_on(bool on) {
    if (on && !is_on()) {
      const std::lock_guard lock(mutex_);
      // Pages that no event has reached take no memory.
      if (!ring_) ring_ = std::make_unique_for_overwrite<StageEvent[]>(most_);
    }
    on_.store(on, std::memory_order_relaxed);
  }

  struct Events {
    std::vector<StageEvent> events;  // in the order in which they ended
    std::uint64_t dropped = 0;
  };
  Events events() const {
    const std::lock_guard lock(mutex_);
    Events found;
    found.dropped = count_ - std::min<std::uint64_t>(count_, most_);
    found.events.reserve(static_cast<std::size_t>(count_ - found.dropped));
    for (std::uint64_t i = found.dropped; i < count_; ++i) found.events.push_back(ring_[i % most_]);
    return found;
  }

  // A stage from here to the end of the scope, of a log that is on at its beginning. `log` may be
  // null, and outlives it.
  class Range {
   public:
    Range(StageLog* log, Stage stage, std::size_t thread, std::uint64_t number)
        : log_(log != nullptr && log->is_on() ? log : nullptr) {
      if (log_ != nullptr) event_ = {stage, static_cast<std::uint32_t>(thread), number, now(), 0};
    }
    ~Range() {
      if (log_ == nullptr) return;
      event_.end = now();
      log_->add(event_);
    }
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

   private:
    static std::int64_t now() {
      const auto since = std::chrono::system_clock::now().time_since_epoch();
      return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
    }

    StageLog* log_;
    StageEvent event_{};
  };

 private:
  void add(const StageEvent& event) noexcept {
    const std::lock_guard lock(mutex_);
    ring_[count_++ % most_] = event;
  }

  std::atomic<bool> on_{false};
  std::size_t most_;
  mutable std::mutex mutex_;
  std::unique_ptr<StageEvent[]> ring_;
  std::uint64_t count_ = 0;  // ever added
};

}  // namespace gz
