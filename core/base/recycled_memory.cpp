#include "core/base/recycled_memory.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <new>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace gz {
namespace {

// Smaller blocks stay with the C library, which keeps them anyway.
constexpr std::size_t kSmallest = 64 << 10;
constexpr std::size_t kPage = 4 << 10;
constexpr std::size_t kHugePage = 2 << 20;
// Larger ones are never kept.
constexpr std::size_t kLargestKept = kMostIdle / 2;

// A block is a sixteenth larger than what was asked for at most.
constexpr std::size_t kClassesPerDoubling = 16;

struct Shelf {
  std::mutex mutex;
  std::vector<MemoryBlock> blocks;
  std::size_t idle = 0;    // bytes of these
  std::size_t in_use = 0;  // bytes of large blocks that are out
  std::uint64_t allowed = 0;
  std::size_t num_allowances = 0;

  // Whether `bytes` more may be idle or in use.
  bool has_room(std::size_t bytes) const {
    return num_allowances == 0 || in_use + idle + bytes <= allowed;
  }

  // The one that waits longest, or none.
  MemoryBlock oldest() {
    if (blocks.empty()) return {};
    const MemoryBlock block = blocks.front();
    blocks.erase(blocks.begin());
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
    ::pthread_atfork(lock_shelf, unlock_shelf, unlock_shelf);
    return new Shelf;
  }();
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

void unmap(const MemoryBlock& block) {
  if (block.data != nullptr) ::munmap(block.data, block.bytes);
}

// Gives back to the kernel what waits, the oldest first, while `wanted()` and there is something.
template <class Wanted>
void unmap_while(std::unique_lock<std::mutex>& lock, const Wanted& wanted) {
  Shelf& from = shelf();
  while (wanted() && !from.blocks.empty()) {
    const MemoryBlock block = from.oldest();
    lock.unlock();
    unmap(block);
    lock.lock();
  }
}

void make_room(std::unique_lock<std::mutex>& lock, std::size_t bytes) {
  unmap_while(lock, [&] { return !shelf().has_room(bytes); });
}

}  // namespace

std::size_t block_bytes(std::size_t bytes) {
  if (bytes < kSmallest) return bytes;
  const std::size_t step =
      bytes > kLargestKept ? kPage : std::bit_floor(bytes) / kClassesPerDoubling;
  return (bytes + step - 1) / step * step;
}

MemoryBlock hand_out(std::size_t bytes) {
  if (bytes < kSmallest) {
    void* const data = std::malloc(bytes);
    if (data == nullptr) throw std::bad_alloc();
    return {data, bytes};
  }
  bytes = block_bytes(bytes);
  Shelf& from = shelf();
  {
    std::unique_lock lock(from.mutex);
    // The one that came last: it is the likeliest to be in the processor's cache.
    const auto found = std::find_if(from.blocks.rbegin(), from.blocks.rend(),
                                    [&](const MemoryBlock& block) { return block.bytes == bytes; });
    if (found != from.blocks.rend()) {
      const MemoryBlock block = *found;
      from.blocks.erase(std::next(found).base());
      from.idle -= block.bytes;
      from.in_use += block.bytes;
      return block;
    }
    make_room(lock, bytes);
    from.in_use += bytes;
  }
  try {
    return {map(bytes), bytes};
  } catch (...) {
    const std::lock_guard lock(from.mutex);
    from.in_use -= bytes;
    throw;
  }
}

void take_back(MemoryBlock block) noexcept {
  if (block.bytes < kSmallest) {
    std::free(block.data);
    return;
  }
  Shelf& to = shelf();
  {
    const std::lock_guard lock(to.mutex);
    to.in_use -= block.bytes;
    if (block.bytes <= kLargestKept && to.idle + block.bytes <= kMostIdle &&
        to.has_room(block.bytes)) {
      try {
        to.blocks.push_back(block);
        to.idle += block.bytes;
        return;
      } catch (const std::bad_alloc&) {
        // Then it is not kept.
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
#ifdef __GLIBC__
  ::malloc_trim(0);  // what many small objects took goes back, too
#endif
}

}  // namespace gz
