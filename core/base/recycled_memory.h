// Large blocks of memory that are used again instead of being given back between calls.
#pragma once

#include <cstddef>

namespace gz {

// The C library returns large blocks to the kernel, and fresh ones arrive as pages that fault one
// by one: a third of the time of a sample (docs/design/sampling.md). Here up to kMostIdle bytes
// wait for the next call. Blocks have sizes of their class, which hand_out() rounds `bytes` up to;
// those of 2 MB and more lie in huge pages where the kernel has them.
struct MemoryBlock {
  void* data = nullptr;
  std::size_t bytes = 0;
};

inline constexpr std::size_t kMostIdle = std::size_t{64} << 20;

// Not zeroed. Throws std::bad_alloc.
MemoryBlock hand_out(std::size_t bytes);

// `block` is one that hand_out() returned. Safe on any thread, also in a forked child.
void take_back(MemoryBlock block) noexcept;

// Bytes that wait at the moment.
std::size_t idle_bytes();

}  // namespace gz
