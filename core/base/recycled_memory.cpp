#include "core/base/recycled_memory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "core/base/memory_pages.h"
#include "core/base/process.h"

namespace gz {
namespace {

// Smaller blocks stay with the C library, which keeps them anyway.
constexpr std::size_t kSmallest = 64 << 10;
constexpr std::size_t kPage = 4 << 10;
// A block is a sixteenth larger than what was asked for at most.
constexpr std::size_t kClassesPerDoubling = 16;
// Samples differ in size by some percent: a block that waits may be so many classes larger.
constexpr std::size_t kClassesAbove = 4;
constexpr std::size_t kNumClasses =
    kClassesPerDoubling * (std::bit_width(kLargestKept) - std::bit_width(kSmallest)) + 1;

// Of a block that may be kept.
std::size_t class_of(std::size_t bytes) {
  const std::size_t doubling = std::bit_floor(bytes);
  const auto doublings =
      static_cast<std::size_t>(std::bit_width(bytes) - std::bit_width(kSmallest));
  return kClassesPerDoubling * doublings + (bytes - doubling) / (doubling / kClassesPerDoubling);
}

struct Shelf {
  struct Idle {
    void* data;
    std::uint64_t turn;  // at which it came
  };

  std::mutex mutex;
  std::array<std::vector<Idle>, kNumClasses> blocks;  // by class; the last one came last
  std::array<std::size_t, kNumClasses> bytes_of{};
  std::uint64_t num_turns = 0;
  std::size_t idle = 0;    // bytes of these
  std::size_t in_use = 0;  // bytes of large blocks that are out
  std::uint64_t allowed = 0;
  std::size_t num_allowances = 0;
  std::uint64_t more_idle = 0;  // than kMostIdle

  // Whether `bytes` more may be idle or in use.
  bool has_room(std::size_t bytes) const {
    return num_allowances == 0 || in_use + idle + bytes <= allowed;
  }
  // Whether so much more may be idle.
  bool may_wait(std::size_t bytes) const {
    return idle + bytes <= kMostIdle + more_idle && has_room(bytes);
  }

  void keep(const MemoryBlock& block) {
    const std::size_t of = class_of(block.bytes);
    blocks[of].push_back({block.data, num_turns++});
    bytes_of[of] = block.bytes;
    idle += block.bytes;
  }

  // One of so many bytes, or of `more_classes` above, or none. The one that came last: it is the
  // likeliest to be in the processor's cache.
  MemoryBlock newest(std::size_t bytes, std::size_t more_classes) {
    if (bytes > kLargestKept) return {};
    const std::size_t first = class_of(bytes);
    for (std::size_t of = first; of < std::min(first + more_classes + 1, kNumClasses); ++of) {
      if (blocks[of].empty()) continue;
      const MemoryBlock block = {blocks[of].back().data, bytes_of[of]};
      blocks[of].pop_back();
      idle -= block.bytes;
      return block;
    }
    return {};
  }

  // The one that waits longest, or none.
  MemoryBlock oldest() {
    std::size_t of = kNumClasses;
    for (std::size_t c = 0; c < kNumClasses; ++c) {
      if (blocks[c].empty()) continue;
      if (of == kNumClasses || blocks[c].front().turn < blocks[of].front().turn) of = c;
    }
    if (of == kNumClasses) return {};
    const MemoryBlock block = {blocks[of].front().data, bytes_of[of]};
    blocks[of].erase(blocks[of].begin());
    idle -= block.bytes;
    return block;
  }
};

Shelf& shelf();

// A child must not find the lock taken by a thread that it does not have.
void lock_shelf() { shelf().mutex.lock(); }
void unlock_shelf() { shelf().mutex.unlock(); }

// Never destroyed: arrays may outlive everything else.
Shelf& shelf() {
  static auto* const the_shelf = [] {
    at_fork(lock_shelf, unlock_shelf, unlock_shelf);
    return new Shelf;
  }();
  return *the_shelf;
}

// From the system and back to it: once the C library has freed some large blocks it keeps such ones
// in heaps of its own, one for every few threads, and what is free there still counts as ours.
void unmap(const MemoryBlock& block) {
  if (block.data != nullptr) unmap_memory(block.data, block.bytes);
}

// Gives back to the kernel what waits, the oldest first, while `wanted()` and there is something.
template <class Wanted>
void unmap_while(std::unique_lock<std::mutex>& lock, const Wanted& wanted) {
  Shelf& from = shelf();
  while (from.idle > 0 && wanted()) {
    const MemoryBlock block = from.oldest();
    lock.unlock();
    unmap(block);
    lock.lock();
  }
}

void make_room(std::unique_lock<std::mutex>& lock, std::size_t bytes) {
  unmap_while(lock, [&] { return !shelf().has_room(bytes); });
}

// A block that waits may be larger by `more_classes`.
MemoryBlock hand_out(std::size_t bytes, std::size_t more_classes) {
  if (bytes < kSmallest) {
    void* const data = std::malloc(bytes);
    if (data == nullptr) throw std::bad_alloc();
    return {data, bytes};
  }
  bytes = block_bytes(bytes);
  Shelf& from = shelf();
  {
    std::unique_lock lock(from.mutex);
    const MemoryBlock block = from.newest(bytes, more_classes);
    if (block.data == nullptr) make_room(lock, bytes);
    from.in_use += block.data != nullptr ? block.bytes : bytes;
    if (block.data != nullptr) return block;
  }
  try {
    return {map_memory(bytes), bytes};
  } catch (...) {
    const std::lock_guard lock(from.mutex);
    from.in_use -= bytes;
    throw;
  }
}

}  // namespace

std::size_t block_bytes(std::size_t bytes) {
  if (bytes < kSmallest) return bytes;
  const std::size_t step =
      bytes > kLargestKept ? kPage : std::bit_floor(bytes) / kClassesPerDoubling;
  return (bytes + step - 1) / step * step;
}

MemoryBlock hand_out(std::size_t bytes) { return hand_out(bytes, kClassesAbove); }

MemoryBlock hand_out_exactly(std::size_t bytes) { return hand_out(bytes, 0); }

void take_back(MemoryBlock block) noexcept {
  if (block.bytes < kSmallest) {
    std::free(block.data);
    return;
  }
  Shelf& to = shelf();
  {
    std::unique_lock lock(to.mutex);
    to.in_use -= block.bytes;
    if (block.bytes <= kLargestKept) {
      // Those that nobody has asked for for long go, not the one that was in use until now.
      unmap_while(lock, [&] { return !to.may_wait(block.bytes); });
      if (to.may_wait(block.bytes)) {
        try {
          to.keep(block);
          return;
        } catch (const std::bad_alloc&) {
          // Then it is not kept.
        }
      }
    }
  }
  unmap(block);
}

std::size_t idle_bytes() {
  const std::lock_guard lock(shelf().mutex);
  return shelf().idle;
}

BlockAllowance::BlockAllowance(std::uint64_t bytes) : bytes_(bytes) {
  Shelf& of = shelf();
  std::unique_lock lock(of.mutex);
  of.allowed += bytes_;
  ++of.num_allowances;
  make_room(lock, 0);
}

BlockAllowance::~BlockAllowance() {
  Shelf& of = shelf();
  std::unique_lock lock(of.mutex);
  of.allowed -= bytes_;
  --of.num_allowances;
  unmap_while(lock, [] { return true; });
  lock.unlock();
  trim_heap();  // what many small objects took goes back, too
}

void IdleRoom::set(std::uint64_t bytes) {
  Shelf& of = shelf();
  std::unique_lock lock(of.mutex);
  of.more_idle += bytes - std::exchange(bytes_, bytes);
  unmap_while(lock, [&] { return !of.may_wait(0); });
}

}  // namespace gz
