// Whether pages of a mapping are worth requesting before they are read.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/base/machine.h"

namespace gz {

// A request costs a system call, which is wasted on a page that is already there: fifty times the
// price of the read. So work is done in stretches, and the faults of one decide about the next: as
// long as nobody waits for the device nothing is requested; after a stretch that did, requests are
// made for the next kPatience stretches, and then a stretch without them looks again. Results never
// depend on it. Safe on many threads.
class ColdDetector {
 public:
  // Asked once per stretch. Cold: request the pages first.
  bool cold() {
    int left = cold_stretches_.load(std::memory_order_relaxed);
    while (left > 0) {
      if (cold_stretches_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed))
        return true;
    }
    return false;
  }

  // One stretch: the places begin … end-1 are read by read(first, last), after request(first, last)
  // asked for their pages if they are worth asking for. Unless that is known, the first kLook
  // places tell for the rest.
  template <class Request, class Read>
  void stretch(std::size_t begin, std::size_t end, Request request, Read read) {
    if (cold()) {
      request(begin, end);
      read(begin, end);
      return;
    }
    Stretch looked(*this);
    const std::size_t few = std::min(end, begin + kLook);
    read(begin, few);
    const bool is_cold = looked.end(few - begin);
    if (few == end) return;
    if (is_cold) request(few, end);
    read(few, end);
    if (!is_cold) looked.end(end - few);
  }

  // Counts the faults of the calling thread between its construction and end().
  class Stretch {
   public:
    explicit Stretch(ColdDetector& detector)
        : cold_detector_(detector), faults_(thread_major_faults()) {}
    // `reads` is how many places were read: a few faults among many reads are no reason to ask.
    // Returns whether it was cold.
    bool end(std::uint64_t reads) {
      const std::uint64_t now = thread_major_faults();
      const bool cold = (now - faults_) * kFewOf > reads;
      faults_ = now;
      if (!cold) return false;
      cold_detector_.cold_stretches_.store(kPatience, std::memory_order_relaxed);
      return true;
    }

   private:
    ColdDetector& cold_detector_;
    std::uint64_t faults_;
  };

 private:
  // A fault costs some 100 microseconds, a request one: at one fault in 50 reads both are even.
  static constexpr std::uint64_t kFewOf = 50;
  static constexpr int kPatience = 64;
  static constexpr std::size_t kLook = 64;

  std::atomic<int> cold_stretches_{0};
};

}  // namespace gz
