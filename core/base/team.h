// Threads that stay together for several short loops in a row.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>

namespace gz {

// parallel_chunks() wakes threads for a loop and waits until they sleep again, some 50
// microseconds: as long as a short loop takes. A team is woken once. Between loops its threads look
// for the next one before they fall asleep, and those that come late help from then on. Only the
// thread that leads it calls run().
class Team {
 public:
  // Calls body(i, member) for every i below `count`, which together tell who does it: `member` is
  // below size(), and no two threads have the same. Items are begun in order. If some throw, the
  // exception of the lowest one reaches the caller; Ctrl-C comes before these.
  using Body = std::function<void(std::size_t item, std::size_t member)>;
  void run(std::size_t count, const Body& body);

  std::size_t size() const { return size_; }

 private:
  friend void with_team(std::size_t threads, const std::function<void(Team&)>& lead);

  explicit Team(std::size_t size) : size_(size) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  void follow(std::size_t member);
  void work(std::size_t member);
  void end();
  std::uint32_t wait_for_loop(std::uint32_t after) const;

  static constexpr std::uint32_t kOver = std::numeric_limits<std::uint32_t>::max();

  const std::size_t size_;
  // Odd while there is a loop that may be joined, kOver behind the last one.
  alignas(64) std::atomic<std::uint32_t> stage_{0};
  alignas(64) std::atomic<std::size_t> next_{0};
  alignas(64) std::atomic<std::uint32_t> num_active_{0};  // followers that may be in the loop
  // Of the loop; set while nobody is in it.
  alignas(64) std::size_t count_ = 0;
  const Body* body_ = nullptr;
  std::atomic<bool> stop_{false};  // no further item is begun
  std::mutex mutex_;               // guards:
  std::exception_ptr error_;
  std::size_t error_item_ = 0;
};

// Calls lead(team) on this thread with a team of up to `threads`, itself among them. Inside of
// another parallel call, and on an engine's thread, the team is this thread alone.
void with_team(std::size_t threads, const std::function<void(Team&)>& lead);

}  // namespace gz
