// Memory for rows that have been read, in chunks of one size, up to a fixed number of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/base/recycled_memory.h"

namespace gz {

// Memory is taken when a chunk is taken for the first time. Any thread.
class RowChunks {
 public:
  RowChunks(std::size_t count, std::size_t chunk_bytes)
      : count_(count),
        chunk_bytes_(chunk_bytes),
        chunks_per_slab_(std::clamp<std::size_t>(std::min(count / 16, kSlabBytes / chunk_bytes), 1,
                                                 std::max<std::size_t>(count, 1))) {}
  ~RowChunks() {
    for (const MemoryBlock& slab : slabs_) take_back(slab);
  }
  RowChunks(const RowChunks&) = delete;
  RowChunks& operator=(const RowChunks&) = delete;

  std::size_t chunk_bytes() const { return chunk_bytes_; }
  std::uint64_t bytes() const { return std::uint64_t{count_} * chunk_bytes_; }

  std::size_t num_free() const {
    const std::lock_guard lock(mutex_);
    return count_ - num_out_;
  }

  // Null if all are out. Throws std::bad_alloc.
  std::byte* take() {
    const std::lock_guard lock(mutex_);
    if (num_out_ == count_) return nullptr;
    if (free_.empty()) add_slab();
    std::byte* const chunk = free_.back();
    free_.pop_back();
    ++num_out_;
    return chunk;
  }

  void give_back(std::byte* chunk) noexcept {
    const std::lock_guard lock(mutex_);
    free_.push_back(chunk);  // has room: each was in it before
    --num_out_;
  }

 private:
  static constexpr std::size_t kSlabBytes = 2 << 20;  // a huge page

  void add_slab() {
    const std::size_t chunks = std::min(chunks_per_slab_, count_ - num_made_);
    free_.reserve(num_made_ + chunks);
    slabs_.reserve(slabs_.size() + 1);
    slabs_.push_back(hand_out(chunks * chunk_bytes_));
    for (std::size_t i = chunks; i > 0; --i)
      free_.push_back(static_cast<std::byte*>(slabs_.back().data) + (i - 1) * chunk_bytes_);
    num_made_ += chunks;
  }

  std::size_t count_;
  std::size_t chunk_bytes_;
  std::size_t chunks_per_slab_;
  mutable std::mutex mutex_;
  std::vector<MemoryBlock> slabs_;
  std::vector<std::byte*> free_;  // the last one given back is taken first: it is in the caches
  std::size_t num_made_ = 0;
  std::size_t num_out_ = 0;
};

}  // namespace gz
