#include "core/gather/read_times.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <system_error>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/base/types.h"
#include "core/gather/read_queue.h"

namespace gz {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Whatever else runs on the machine only makes a round longer, so the best of some is taken.
constexpr int kRounds = 5;
constexpr auto kForRounds = milliseconds(50);  // no other pair of them begins later
constexpr auto kForRound = milliseconds(20);   // no other read of it begins later
constexpr auto kForRest = milliseconds(10);    // what is in flight then takes about so long
constexpr std::size_t kDepth = 128;
constexpr std::size_t kLeastDepth = 32;  // a disk that was asleep answers its first reads late
constexpr std::size_t kThreads = 32;     // that wait for a read each, without io_uring
constexpr std::size_t kFewest = 4;       // reads that a time must rest on

double seconds_of(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

struct Target {
  const DirectFile& file;
  std::uint64_t file_size;
  std::byte* memory;
  std::size_t depth;
  Rng rng;

  std::uint64_t place(std::uint64_t bytes) { return rng.below(file_size / bytes) * bytes; }
};

// From the first read's begin to the last one's end. A window in between would be closer to the
// device's own time, but now and then, when this thread had to wait for its core, far too short.
std::optional<double> time_round(ReadQueue& queue, Target& target, std::uint64_t bytes,
                                 std::size_t reads) {
  std::array<IoRing::Done, kDepth> done;
  std::size_t started = 0, taken = 0;
  const auto start = [&](std::uint64_t slot) {
    queue.read(target.file, target.memory + slot * bytes, static_cast<unsigned>(bytes),
               target.place(bytes), slot);
    ++started;
  };
  const auto opened = Clock::now();
  for (std::size_t slot = 0; slot < target.depth; ++slot) start(slot);
  bool sound = true;
  while (queue.in_flight() > 0) {
    const std::size_t count = queue.wait(done, std::max<std::size_t>(queue.in_flight() / 4, 1));
    taken += count;
    const bool more = Clock::now() - opened < kForRound;
    for (const IoRing::Done& one : std::span(done).first(count)) {
      sound = sound && one.result == static_cast<int>(bytes);
      if (more && started < reads) start(one.tag);
    }
  }
  if (!sound || taken < kFewest) return std::nullopt;
  return seconds_of(Clock::now() - opened) / static_cast<double>(taken);
}

std::optional<ReadTimes> best_of_rounds(ReadQueue& queue, Target& target, std::uint64_t small,
                                        std::uint64_t large) {
  ReadTimes best = {small, large, 0, 0};
  const auto opened = Clock::now();
  for (int round = 0; round < kRounds && Clock::now() - opened < kForRounds; ++round) {
    const auto small_seconds = time_round(queue, target, small, 16 * target.depth);
    const auto large_seconds = time_round(queue, target, large, 4 * target.depth);
    if (!small_seconds || !large_seconds) break;
    best.small_seconds = round == 0 ? *small_seconds : std::min(best.small_seconds, *small_seconds);
    best.large_seconds = round == 0 ? *large_seconds : std::min(best.large_seconds, *large_seconds);
  }
  if (best.large_seconds == 0) return std::nullopt;
  return best;
}

// Of a read that is alone. The best of some, for the same reason.
Clock::duration latency(Target& target, std::uint64_t bytes) {
  auto best = Clock::duration::max();
  const auto opened = Clock::now();
  for (int i = 0; i < 8 && Clock::now() - opened < kForRest; ++i) {
    const auto begin = Clock::now();
    target.file.read_at({target.memory, bytes}, bytes, target.place(bytes));
    best = std::min(best, Clock::now() - begin);
  }
  return std::max(best, Clock::duration(1));
}

}  // namespace

std::optional<ReadTimes> time_reads(const DirectFile& file, std::uint64_t file_size) {
  const std::uint64_t small = std::max<std::uint64_t>(kPage, file.alignment());
  const std::uint64_t large = 16 * small;
  const DirectMemory memory(kDepth * large, file.alignment());
  // Not the places of the last time: something on the way may have kept them.
  const auto seed = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
  Target target = {file, file_size, memory.data(), 1, Rng(seed, {})};
  try {
    const auto fits = static_cast<std::size_t>(kForRest / latency(target, small));
    target.depth = std::clamp(fits, kLeastDepth, kDepth);
    try {
      const auto ring = ring_queue(target.depth, {memory.data(), target.depth * large}, file);
      return best_of_rounds(*ring, target, small, large);
    } catch (const IoError&) {
      target.depth = std::min(target.depth, kThreads);
      return best_of_rounds(*thread_queue(target.depth), target, small, large);
    }
  } catch (const std::system_error&) {
    return std::nullopt;  // no threads are left
  } catch (const IoError&) {
    return std::nullopt;  // a caller that needs these bytes gets the error
  }
}

}  // namespace gz
