// Large blocks of memory that are used again instead of being given back between calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gz {

// The C library returns large blocks to the kernel, and fresh ones arrive as pages that fault one
// by one: a third of the time of a sample (docs/design/sampling.md). Here up to kMostIdle bytes
// wait for the next call, and what an IdleRoom adds; those that wait longest go first. Blocks of
// 2 MB and more lie in huge pages where the kernel has them.
struct MemoryBlock {
  void* data = nullptr;
  std::size_t bytes = 0;
};

inline constexpr std::size_t kMostIdle = std::size_t{64} << 20;
// Larger blocks never wait.
inline constexpr std::size_t kLargestKept = std::size_t{256} << 20;

// The size of the block that hand_out_exactly() returns for `bytes`.
std::size_t block_bytes(std::size_t bytes);

// Not zeroed. A block that waits is taken if it is up to a quarter larger, or has block_bytes().
// Throw std::bad_alloc.
MemoryBlock hand_out(std::size_t bytes);
MemoryBlock hand_out_exactly(std::size_t bytes);

// `block` is one that was handed out. Safe on any thread, also in a forked child.
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

// While one of these lives, so much more than kMostIdle may wait, within what is allowed. Any
// thread.
class IdleRoom {
 public:
  IdleRoom() = default;
  ~IdleRoom() { set(0); }
  IdleRoom(const IdleRoom&) = delete;
  IdleRoom& operator=(const IdleRoom&) = delete;

  void set(std::uint64_t bytes);

 private:
  std::uint64_t bytes_ = 0;
};

}  // namespace gz
