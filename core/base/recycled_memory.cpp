#include "core/base/recycled_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdint>
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

// From the kernel and back to it: once the C library has freed some large blocks it keeps such ones
// in heaps of its own, one for every few threads, and what is free there still counts as ours.
void* map(std::size_t bytes) {
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : 0;
  const std::size_t mapped_bytes = bytes + alignment;
  void* const mapped =
      ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  if (alignment == 0) return mapped;
  const auto begin = reinterpret_cast<std::uintptr_t>(mapped);
  const std::uintptr_t data = (begin + alignment - 1) / alignment * alignment;
  if (data > begin) ::munmap(mapped, data - begin);
  if (data < begin + alignment)
    ::munmap(reinterpret_cast<void*>(data + bytes), begin + alignment - data);
  // Random access without misses of the TLB.
  ::madvise(reinterpret_cast<void*>(data), bytes, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(data);
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
  if (bytes >= kSmallest) return {map(bytes), bytes};
  void* const data = std::malloc(bytes);
  if (data == nullptr) throw std::bad_alloc();
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
  if (block.bytes >= kSmallest) {
    ::munmap(block.data, block.bytes);
  } else {
    std::free(block.data);
  }
}

std::size_t idle_bytes() {
  const std::lock_guard lock(shelf().mutex);
  return shelf().bytes;
}

}  // namespace gz
