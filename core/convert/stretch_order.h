// Stretches of an index that threads finish in any order reach the file in the order of their
// buckets.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/convert/index_output.h"

namespace gz {

// A thread whose bucket comes too early parks its stretch and sorts the next bucket; whoever brings
// the bucket that is due writes all that follow it. So a hub's bucket holds up nobody until
// `most_bytes` are parked. Buckets must be started in order, as by parallel_chunks.
class StretchOrder {
 public:
  StretchOrder(IndexOutput& output, std::uint64_t most_bytes)
      : output_(output), most_bytes_(most_bytes) {}

  // The stretch of a whole bucket. `stretch` comes back with memory to use again, or empty.
  // Throws what another thread failed with.
  void add(std::size_t bucket, PackedStretch& stretch) {
    const std::uint64_t bytes = stretch.num_bytes();
    std::unique_lock lock(mutex_);
    wait(lock, [&] { return bucket == next_ || parked_bytes_ + bytes <= most_bytes_; });
    parked_bytes_ += bytes;
    parked_.emplace(bucket, std::move(stretch));
    stretch = PackedStretch();
    if (!spare_.empty()) {
      stretch = std::move(spare_.back());
      spare_.pop_back();
    }
    if (!writing_) write_parked(lock);
  }

  // Between these two the thread may add to the output itself, piece by piece.
  void begin(std::size_t bucket) {
    std::unique_lock lock(mutex_);
    wait(lock, [&] { return bucket == next_ && !writing_; });
    writing_ = true;
  }
  void end() {
    std::unique_lock lock(mutex_);
    ++next_;
    write_parked(lock);
  }

  // Whoever waits throws `failure`, too.
  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    moved_.notify_all();
  }

 private:
  template <class Condition>
  void wait(std::unique_lock<std::mutex>& lock, Condition condition) {
    moved_.wait(lock, [&] { return failure_ || condition(); });
    if (failure_) std::rethrow_exception(failure_);
  }

  void write_parked(std::unique_lock<std::mutex>& lock) {
    writing_ = true;
    for (auto due = parked_.begin(); due != parked_.end() && due->first == next_;
         due = parked_.begin()) {
      PackedStretch stretch = std::move(due->second);
      parked_.erase(due);
      const std::uint64_t bytes = stretch.num_bytes();
      lock.unlock();
      output_.add(stretch);  // if it throws, all others fail with it, and writing_ matters no more
      lock.lock();
      parked_bytes_ -= bytes;
      ++next_;
      // Where the writer cannot follow, memory of what was written would pile up.
      if (spare_.empty()) spare_.push_back(std::move(stretch));
      moved_.notify_all();
    }
    writing_ = false;
    moved_.notify_all();
  }

  IndexOutput& output_;
  const std::uint64_t most_bytes_;
  std::mutex mutex_;
  std::condition_variable moved_;
  std::map<std::size_t, PackedStretch> parked_;
  std::vector<PackedStretch> spare_;
  std::uint64_t parked_bytes_ = 0;
  std::size_t next_ = 0;
  bool writing_ = false;
  std::exception_ptr failure_;
};

}  // namespace gz
