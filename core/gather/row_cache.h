// Rows that stay in memory, as they are stored.
#pragma once

#include <cstddef>
#include <cstdint>

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

  // Reads all rows, in the order of the file. May be interrupted, and called again. Throws IoError.
  void fill(RowReader& reader);
  bool is_filled() const { return filled_ == rows_.count(); }

  std::uint64_t count() const { return rows_.count(); }
  std::uint64_t bytes() const { return rows_.count() * row_bytes_ + rows_.bytes(); }
  GatherCounts counts() const { return counts_; }  // of fill()

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
  std::uint64_t filled_ = 0;
  MemoryBlock memory_;
  GatherCounts counts_;
};

}  // namespace gz
