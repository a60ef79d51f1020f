// Large blocks of memory that are used again instead of being given back between calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gz {

// The C library returns large blocks to the kernel, and fresh ones arrive as pages that fault one
// by one: a third of the time of a sample (docs/design/sampling.md). Here up to kMostIdle bytes
// wait for the next call. Those of 2 MB and more lie in huge pages where the kernel has them.
struct MemoryBlock {
  void* data = nullptr;
  std::size_t bytes = 0;
};

inline constexpr std::size_t kMostIdle = std::size_t{64} << 20;

// The size of the block that hand_out() returns for `bytes`.
std::size_t block_bytes(std::size_t bytes);

// Not zeroed. Throws std::bad_alloc.
MemoryBlock hand_out(std::size_t bytes);

// `block` is one that hand_out() returned. Safe on any thread, also in a forked child.
void take_back(MemoryBlock block) noexcept;

// Bytes that wait at the moment.
std::size_t idle_bytes();

// While one of these lives, blocks that are out and blocks that wait stay within what all of them
// allow together: those that wait make room. When it goes, nothing waits any more.
class BlockAllowance {
 public:
  explicit BlockAllowance(std::uint64_t bytes);
  ~BlockAllowance();
  BlockAllowance(const BlockAllowance&) = delete;
  BlockAllowance& operator=(const BlockAllowance&) = delete;

 private:
  std::uint64_t bytes_;
};

}  // namespace gz
