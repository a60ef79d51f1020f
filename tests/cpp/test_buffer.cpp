#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/recycled_memory.h"
#include "core/base/recycled_vector.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

TEST(a_buffer_keeps_its_items_while_it_grows) {
  Buffer<std::int64_t> buffer;
  for (std::int64_t i = 0; i < 100000; ++i) buffer.push_back(i);
  buffer.extend(3)[2] = 7;
  EXPECT(buffer.size() == 100003);
  EXPECT(buffer[100002] == 7);
  buffer.shrink(100000);
  EXPECT(std::accumulate(buffer.begin(), buffer.end(), std::int64_t{0}) == 4999950000);
}

TEST(moving_a_buffer_leaves_nothing_behind) {
  Buffer<int> from;
  from.push_back(5);
  const Buffer<int> to = std::move(from);
  EXPECT(to.size() == 1 && to[0] == 5);
  EXPECT(from.size() == 0 && from.data() == nullptr);
}

TEST(a_buffer_larger_than_the_machine_is_refused_before_it_is_made) {
  Buffer<std::int64_t> buffer;
  const std::string message = test::message_of([&] { buffer.reserve(std::size_t{1} << 52); });
  EXPECT(message.find("holding a sample") == 0);
  EXPECT(buffer.size() == 0);
}

TEST(a_large_block_is_handed_out_again) {
  const MemoryBlock first = hand_out(3 << 20);
  EXPECT(first.bytes >= 3 << 20);
  const std::size_t idle = idle_bytes();
  take_back(first);
  EXPECT(idle_bytes() == idle + first.bytes);
  const MemoryBlock second = hand_out((3 << 20) - 100);
  EXPECT(second.data == first.data);
  EXPECT(idle_bytes() == idle);
  take_back(second);
}

TEST(what_waits_is_bounded) {
  std::vector<MemoryBlock> blocks;
  for (int i = 0; i < 40; ++i) blocks.push_back(hand_out(4 << 20));
  for (const MemoryBlock& block : blocks) take_back(block);
  EXPECT(idle_bytes() <= kMostIdle);
  const MemoryBlock huge = hand_out(kMostIdle + 1);
  take_back(huge);
  EXPECT(idle_bytes() <= kMostIdle);
}

TEST(the_block_that_waits_longest_makes_room) {
  {
    const BlockAllowance none(0);
  }  // what other tests left goes
  const MemoryBlock old = hand_out(8 << 20);
  std::vector<MemoryBlock> blocks;
  for (std::size_t bytes = 0; bytes < kMostIdle; bytes += 4 << 20)
    blocks.push_back(hand_out(4 << 20));
  take_back(old);
  for (const MemoryBlock& block : blocks) take_back(block);
  EXPECT(idle_bytes() == kMostIdle);  // all but the first one
  for (MemoryBlock& block : blocks) block = hand_out(4 << 20);
  EXPECT(idle_bytes() == 0);
  for (const MemoryBlock& block : blocks) take_back(block);
}

TEST(a_block_that_waits_serves_for_a_little_less) {
  {
    const BlockAllowance none(0);
  }
  const MemoryBlock block = hand_out(10 << 20);
  take_back(block);
  const MemoryBlock exact = hand_out_exactly(9 << 20);
  EXPECT(exact.bytes == 9 << 20);
  const MemoryBlock same = hand_out(9 << 20);
  EXPECT(same.data == block.data && same.bytes == block.bytes);
  take_back(exact);
  take_back(same);
  const MemoryBlock less = hand_out(6 << 20);  // not for so much less
  EXPECT(less.bytes == 6 << 20);
  take_back(less);
}

TEST(more_may_wait_where_there_is_room) {
  {
    const BlockAllowance none(0);
  }
  constexpr std::size_t kMuch = kMostIdle + (16 << 20);
  const auto use_much = [] {
    std::vector<MemoryBlock> blocks;
    for (std::size_t bytes = 0; bytes < kMuch; bytes += 4 << 20)
      blocks.push_back(hand_out(4 << 20));
    for (const MemoryBlock& block : blocks) take_back(block);
    return idle_bytes();
  };
  EXPECT(use_much() == kMostIdle);
  {
    IdleRoom room;
    room.set(8 << 20);
    EXPECT(use_much() == kMostIdle + (8 << 20));
    IdleRoom other;
    other.set(8 << 20);
    EXPECT(use_much() == kMuch);
    other.set(0);
    EXPECT(idle_bytes() == kMostIdle + (8 << 20));
    const BlockAllowance allowance(32 << 20);  // in which that is
    EXPECT(idle_bytes() == 32 << 20);
  }
  EXPECT(use_much() == kMostIdle);
}

TEST(blocks_that_wait_make_room_for_those_in_use) {
  {
    const BlockAllowance none(0);
  }  // what other tests left goes
  std::optional<BlockAllowance> allowance(20 << 20);
  const MemoryBlock waits = hand_out(8 << 20);
  MemoryBlock used = hand_out(4 << 20);
  take_back(waits);
  EXPECT(idle_bytes() == waits.bytes);
  const MemoryBlock more = hand_out(6 << 20);
  EXPECT(idle_bytes() == waits.bytes);  // 18 of 20 MB
  const MemoryBlock last = hand_out(3 << 20);
  EXPECT(idle_bytes() == 0);
  take_back(last);
  EXPECT(idle_bytes() == last.bytes);
  // Allowances add up.
  std::optional<BlockAllowance> other(100 << 20);
  const MemoryBlock large = hand_out(30 << 20);
  EXPECT(idle_bytes() == last.bytes);
  take_back(large);
  EXPECT(idle_bytes() == last.bytes + large.bytes);
  other.reset();
  EXPECT(idle_bytes() == 0);
  take_back(more);
  take_back(std::exchange(used, {}));
  EXPECT(idle_bytes() == more.bytes + (4 << 20));
  allowance.reset();
  EXPECT(idle_bytes() == 0);
}

TEST(what_is_out_may_exceed_the_allowance) {
  const BlockAllowance allowance(1 << 20);
  const MemoryBlock block = hand_out(4 << 20);
  EXPECT(block.data != nullptr);
  take_back(block);
  EXPECT(idle_bytes() == 0);
}

TEST(a_recycled_vector_gives_its_block_back) {
  {
    const BlockAllowance none(0);
  }
  const BlockAllowance allowance(std::uint64_t{1} << 30);
  {
    RecycledVector<std::int64_t> numbers(100'000);
    numbers.push_back(7);
    EXPECT(numbers.back() == 7 && numbers.front() == 0);
  }
  EXPECT(idle_bytes() == block_bytes(800'000) + block_bytes(1'600'000));
}

}  // namespace
}  // namespace gz
