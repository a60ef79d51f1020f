#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "core/pipeline/batch_memory.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

constexpr std::size_t kBytes = 100'000;

TEST(a_block_that_came_back_is_handed_out_again) {
  const auto memory = std::make_shared<BatchMemory>();
  BatchMemory::Block block = memory->take(kBytes);
  const std::byte* const place = block.get();
  std::memset(block.get(), 1, kBytes);
  EXPECT(memory->use().num_out == 1 && memory->use().bytes >= kBytes);
  block.reset();
  EXPECT(memory->use().num_out == 0 && memory->use().bytes >= kBytes);
  block = memory->take(kBytes + kBytes / 32);  // the room to spare is for this
  EXPECT(block.get() == place);
  block.reset();
  block = memory->take(3 * kBytes);
  std::memset(block.get(), 1, 3 * kBytes);
  EXPECT(memory->use().bytes >= 3 * kBytes &&
         memory->use().bytes < 4 * kBytes);  // the small one is gone
}

TEST(a_block_may_be_empty) {
  const auto memory = std::make_shared<BatchMemory>();
  const BatchMemory::Block block = memory->take(0);
  EXPECT(block != nullptr && memory->use().num_out == 1);
}

TEST(no_more_blocks_wait_than_are_to_be_kept) {
  const auto memory = std::make_shared<BatchMemory>();
  for (const std::size_t keep : {0u, 1u, 3u}) {
    memory->keep(keep);
    std::vector<BatchMemory::Block> blocks;
    for (int i = 0; i < 5; ++i) blocks.push_back(memory->take(kBytes));
    EXPECT(memory->use().num_out == 5);
    const std::size_t of_one = memory->use().bytes / 5;
    blocks.clear();
    EXPECT(memory->use().num_out == 0);
    EXPECT(memory->use().bytes == keep * of_one);
  }
}

TEST(who_wants_to_know_is_told_that_a_block_came_back) {
  const auto memory = std::make_shared<BatchMemory>();
  int told = 0;
  std::size_t out = 9;
  memory->set_on_return([&] {
    ++told;
    out = memory->use().num_out;  // no lock is held
  });
  BatchMemory::Block block = memory->take(kBytes);
  BatchMemory::Block copy = block;
  block.reset();
  EXPECT(told == 0);
  copy.reset();
  EXPECT(told == 1 && out == 0);
  block = memory->take(kBytes);
  memory->set_on_return({});
  block.reset();
  EXPECT(told == 1);
}

TEST(blocks_may_outlive_their_memory) {
  auto memory = std::make_shared<BatchMemory>();
  BatchMemory::Block block = memory->take(kBytes);
  memory.reset();
  std::memset(block.get(), 1, kBytes);
  block.reset();
}

TEST(threads_may_take_and_let_go_at_once) {
  const auto memory = std::make_shared<BatchMemory>();
  std::atomic<int> told{0};
  memory->set_on_return([&] { ++told; });
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 200; ++i) {
          const BatchMemory::Block block = memory->take(kBytes + static_cast<std::size_t>(i) * 100);
          std::memset(block.get(), t, kBytes);
        }
      });
    }
  }
  EXPECT(told == 800 && memory->use().num_out == 0);
}

// What it was told to do may wait for a thread that did not come along.
TEST(a_block_let_go_in_a_forked_child_tells_nobody) {
#ifdef _WIN32
  SKIP("Windows does not fork");
#else
  const auto memory = std::make_shared<BatchMemory>();
  BatchMemory::Block block = memory->take(kBytes);
  memory->set_on_return([] { ::_exit(3); });
  const pid_t child = ::fork();
  if (child == 0) {
    block.reset();
    ::_exit(0);
  }
  int status = -1;
  EXPECT(::waitpid(child, &status, 0) == child);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  memory->set_on_return({});
#endif
}

// What a driver was told to pin.
std::vector<std::pair<void*, std::size_t>> pinned;
bool pinning_fails = false;

Pinning fake_driver() {
  static int context = 0;
  pinned.clear();
  pinning_fails = false;
  Pinning pinning;
  pinning.context = &context;
  pinning.set_context = [](void* given) { return given == &context ? 0 : 1; };
  pinning.pin = [](void* data, std::size_t bytes, unsigned flags) {
    if (pinning_fails || flags != 1) return 1;
    pinned.emplace_back(data, bytes);
    return 0;
  };
  pinning.unpin = [](void* data) {
    const auto found = std::find_if(pinned.begin(), pinned.end(),
                                    [&](const auto& block) { return block.first == data; });
    if (found == pinned.end()) return 1;
    pinned.erase(found);
    return 0;
  };
  return pinning;
}

TEST(blocks_are_pinned_for_as_long_as_they_are_held) {
  {
    const auto memory = std::make_shared<BatchMemory>(fake_driver());
    memory->keep(1);
    BatchMemory::Block block = memory->take(kBytes), other = memory->take(10);
    EXPECT(pinned.size() == 2 && pinned[0].first == block.get() && pinned[0].second >= kBytes);
    EXPECT(pinned[1].second >= 64 << 10);  // whole pages
    EXPECT(memory->use().pinned_bytes == memory->use().bytes);
    other.reset();
    EXPECT(pinned.size() == 2);  // kept
    block.reset();
    EXPECT(pinned.size() == 1 && memory->use().pinned_bytes == pinned[0].second);
    block = memory->take(3 * kBytes);  // the kept one is too small
    EXPECT(pinned.size() == 1 && pinned[0].first == block.get());
  }
  EXPECT(pinned.empty());
}

TEST(a_block_for_a_batch_far_larger_than_the_others_is_not_kept) {
  const auto memory = std::make_shared<BatchMemory>();
  memory->keep(2, kBytes);
  BatchMemory::Block usual = memory->take(kBytes / 4), large = memory->take(5 * kBytes);
  EXPECT(memory->use().bytes >= 6 * kBytes);
  usual.reset();
  large.reset();
  EXPECT(memory->use().bytes >= kBytes && memory->use().bytes < 2 * kBytes);
  usual = memory->take(kBytes);
  EXPECT(memory->use().bytes < 2 * kBytes);  // the kept one has room
}

TEST(what_cannot_be_pinned_is_handed_out_as_it_is) {
  const auto memory = std::make_shared<BatchMemory>(fake_driver());
  pinning_fails = true;
  BatchMemory::Block block = memory->take(kBytes);
  std::memset(block.get(), 1, kBytes);
  EXPECT(memory->use().pinned_bytes == 0 && memory->use().bytes >= kBytes);
  block.reset();
}

}  // namespace
}  // namespace gz
