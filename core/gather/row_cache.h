// Rows that stay in memory, as they are stored.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/base/recycled_memory.h"
#include "core/gather/row_reader.h"
#include "core/gather/row_set.h"

namespace gz {

// Filled once; then find() is safe on any thread and takes no lock.
class RowCache {
 public:
  RowCache(const RowLayout& layout, RowSet rows);
  ~RowCache() { take_back(memory_); }
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  // Rows are read in parts, each by one thread.
  std::size_t num_parts() const { return num_parts_; }
  // A part that nobody has begun, or num_parts(). Any thread.
  std::size_t begin_part();
  // Whether there is one.
  bool has_part_to_begin() const;
  // Reads a part that was begun, in the order of the file. If this throws, or is interrupted, the
  // part may be begun again. Any thread. Throws IoError.
  void fill(RowReader& reader, std::size_t part);
  // All rows are there, and find() may be called.
  bool is_filled() const { return num_filled_.load(std::memory_order_acquire) == num_parts_; }

  std::uint64_t count() const { return rows_.count(); }
  std::uint64_t bytes() const { return rows_.count() * row_bytes_ + rows_.bytes(); }
  GatherCounts counts() const;  // of fill()

  bool has(std::uint64_t row) const { return rows_.find(row) != RowSet::kNone; }
  // The row, or null.
  const std::byte* find(std::uint64_t row) const {
    const std::uint64_t rank = rows_.find(row);
    return rank == RowSet::kNone ? nullptr : place(rank);
  }

 private:
  std::byte* place(std::uint64_t rank) const {
    return static_cast<std::byte*>(memory_.data) + rank * row_bytes_;
  }

  std::uint64_t row_bytes_;
  RowSet rows_;
  MemoryBlock memory_;
  std::uint64_t rows_per_part_;  // of the file
  std::size_t num_parts_;
  std::atomic<std::size_t> num_filled_{0};  // parts
  mutable std::mutex mutex_;
  std::size_t next_part_ = 0;
  std::vector<std::size_t> failed_parts_;
  GatherCounts counts_;
};

}  // namespace gz
