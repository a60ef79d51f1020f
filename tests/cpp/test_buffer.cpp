#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/recycled_memory.h"
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
  const MemoryBlock huge = hand_out(kMostIdle);
  const std::size_t idle = idle_bytes();
  take_back(huge);
  EXPECT(idle_bytes() == idle);
}

}  // namespace
}  // namespace gz
