#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/direct_file.h"
#include "core/base/random.h"
#include "core/gather/read_queue.h"
#include "tests/cpp/check.h"
#include "tests/cpp/platform.h"
#include "tests/cpp/scratch_file.h"

namespace gz {
namespace {

constexpr std::size_t kDepth = 16;
constexpr unsigned kRoom = 8192;
constexpr std::uint64_t kBlocks = 256;

using Make = std::unique_ptr<ReadQueue> (*)(std::size_t depth, std::span<std::byte> memory,
                                            const DirectFile& file);
constexpr std::array<Make, 2> kQueues = {
    &ring_queue,
    [](std::size_t depth, std::span<std::byte>, const DirectFile&) { return thread_queue(depth); }};

bool is_from(const std::byte* bytes, std::uint64_t offset, std::size_t length) {
  for (std::size_t i = 0; i < length; ++i)
    if (bytes[i] != ScratchFile::byte_at(offset + i)) return false;
  return true;
}

TEST(both_queues_read_the_same_bytes) {
  test::require_io_ring();
  test::require_direct_reads();
  const ScratchFile scratch(kBlocks * 4096);
  const File file(scratch.path());
  const DirectFile direct(file);
  const DirectMemory memory(kDepth * kRoom, 4096);
  for (const Make make : kQueues) {
    const auto queue = make(kDepth, {memory.data(), kDepth * kRoom}, direct);
    Rng rng(3, {1});
    std::array<std::uint64_t, kDepth> offsets;
    std::vector<std::size_t> idle;
    for (std::size_t i = 0; i < kDepth; ++i) idle.push_back(i);
    std::array<IoRing::Done, kDepth> done;
    std::size_t started = 0, taken = 0;
    bool right = true;
    while (taken < 500) {
      for (; !idle.empty() && started < 500; ++started) {
        const std::size_t place = idle.back();
        idle.pop_back();
        offsets[place] = rng.below(kBlocks - 1) * 4096;
        queue->read(direct, memory.data() + place * kRoom, kRoom, offsets[place], place);
      }
      const std::size_t in_flight = queue->in_flight();
      const std::size_t count = queue->wait(done, 3);
      right = right && count >= std::min<std::size_t>(3, in_flight);
      right = right && queue->in_flight() == in_flight - count;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t place = done[i].tag;
        right = right && done[i].result == kRoom;
        right = right && is_from(memory.data() + place * kRoom, offsets[place], kRoom);
        idle.push_back(place);
      }
      taken += count;
    }
    EXPECT(right);
    EXPECT(taken == 500 && queue->in_flight() == 0);
  }
}

TEST(a_wait_ends_with_all_there_are) {
  test::require_direct_reads();
  const ScratchFile scratch(kBlocks * 4096);
  const File file(scratch.path());
  const DirectFile direct(file);
  const DirectMemory memory(kDepth * kRoom, 4096);
  for (const Make make : kQueues) {
    const auto queue = make(kDepth, {memory.data(), kDepth * kRoom}, direct);
    std::array<IoRing::Done, kDepth> done;
    EXPECT(queue->wait(done, 3) == 0);
    for (std::size_t i = 0; i < 5; ++i)
      queue->read(direct, memory.data() + i * kRoom, kRoom, i * 4096, i);
    EXPECT(queue->wait(done, 100) == 5);
    // Room for fewer than are waited for: the others are taken later.
    for (std::size_t i = 0; i < 5; ++i)
      queue->read(direct, memory.data() + i * kRoom, kRoom, i * 4096, i);
    std::size_t taken = queue->wait(std::span(done).first(2), 5);
    EXPECT(taken == 2 && queue->in_flight() == 3);
    taken += queue->wait(done, 3);
    EXPECT(taken == 5);
  }
}

TEST(a_short_read_and_a_failed_one_complete_with_what_there_is) {
  test::require_direct_reads();
  const ScratchFile scratch(4096 + 100);
  const File file(scratch.path());
  const DirectFile direct(file);
  const DirectMemory memory(2 * kRoom, 4096);
  for (const Make make : kQueues) {
    const auto queue = make(2, {memory.data(), 2 * kRoom}, direct);
    std::array<IoRing::Done, 2> done;
    queue->read(direct, memory.data(), kRoom, 0, 7);
    EXPECT(queue->wait(done, 1) == 1);
    EXPECT(done[0].tag == 7 && done[0].result == 4096 + 100);
    if (test::is_wine()) continue;                       // which reads at any place
    queue->read(direct, memory.data() + 1, 4096, 1, 8);  // nothing is aligned
    EXPECT(queue->wait(done, 1) == 1);
    EXPECT(done[0].tag == 8 && done[0].result < 0);
  }
}

TEST(behind_a_queue_nothing_writes_to_a_buffer) {
  test::require_direct_reads();
  const ScratchFile scratch(kBlocks * 4096);
  const File file(scratch.path());
  const DirectFile direct(file);
  for (const Make make : kQueues) {
    for (int repeat = 0; repeat < 10; ++repeat) {
      const DirectMemory memory(kDepth * kRoom, 4096);
      auto queue = make(kDepth, {memory.data(), kDepth * kRoom}, direct);
      std::array<IoRing::Done, 1> done;
      for (std::size_t i = 0; i < kDepth; ++i)
        queue->read(direct, memory.data() + i * kRoom, kRoom, i * 4096, i);
      if (repeat % 2 == 0) EXPECT(queue->wait(done, 1) == 1);
      queue.reset();
      std::fill_n(memory.data(), kDepth * kRoom, std::byte{0xa5});
      bool untouched = true;
      for (std::size_t i = 0; i < kDepth * kRoom; ++i)
        untouched = untouched && memory.data()[i] == std::byte{0xa5};
      EXPECT(untouched);
    }
  }
}

}  // namespace
}  // namespace gz
