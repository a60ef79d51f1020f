#include "core/base/recycled_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

namespace gz {
namespace {

// Smaller blocks stay with the C library, which keeps them anyway.
constexpr std::size_t kSmallest = 64 << 10;

// A block is an eighth larger than what was asked for, or a huge page, at most.
constexpr std::size_t kClassesPerDoubling = 8;
constexpr std::size_t kHugePage = 2 << 20;

struct Shelf {
  std::mutex mutex;
  std::vector<MemoryBlock> blocks;
  std::size_t bytes = 0;
};

// Never destroyed: arrays may outlive everything else.
Shelf& shelf() {
  static auto* const the_shelf = new Shelf;
  return *the_shelf;
}

}  // namespace

MemoryBlock hand_out(std::size_t bytes) {
  if (bytes >= kSmallest) {
    const std::size_t step = std::max(std::bit_floor(bytes) / kClassesPerDoubling,
                                      bytes >= kHugePage ? kHugePage : kSmallest);
    bytes = (bytes + step - 1) / step * step;
    Shelf& from = shelf();
    // Whoever finds the lock taken does without: a forked child may find it taken for ever.
    if (const std::unique_lock lock(from.mutex, std::try_to_lock); lock) {
      const auto found =
          std::find_if(from.blocks.begin(), from.blocks.end(),
                       [&](const MemoryBlock& block) { return block.bytes == bytes; });
      if (found != from.blocks.end()) {
        const MemoryBlock block = *found;
        *found = from.blocks.back();
        from.blocks.pop_back();
        from.bytes -= bytes;
        return block;
      }
    }
  }
  const bool huge = bytes >= kHugePage;
  void* const data = huge ? std::aligned_alloc(kHugePage, bytes) : std::malloc(bytes);
  if (data == nullptr) throw std::bad_alloc();
  if (huge) madvise(data, bytes, MADV_HUGEPAGE);  // random access without misses of the TLB
  return {data, bytes};
}

void take_back(MemoryBlock block) noexcept {
  if (block.bytes >= kSmallest && block.bytes <= kMostIdle / 2) {
    Shelf& to = shelf();
    if (const std::unique_lock lock(to.mutex, std::try_to_lock);
        lock && to.bytes + block.bytes <= kMostIdle) {
      try {
        to.blocks.push_back(block);
        to.bytes += block.bytes;
        return;
      } catch (const std::bad_alloc&) {
        // Then it is not kept.
      }
    }
  }
  std::free(block.data);
}

std::size_t idle_bytes() {
  const std::lock_guard lock(shelf().mutex);
  return shelf().bytes;
}

}  // namespace gz
