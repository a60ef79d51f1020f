// Which bytes of a file to read for some rows: few reads, in file order, nothing twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/recycled_vector.h"
#include "core/gather/row_reader.h"

namespace gz {

// Larger reads bring hardly more bytes per second.
inline constexpr std::uint64_t kMostOfRead = 64 << 10;

struct PlanOptions {
  // Reads start and end at multiples of it, a power of two. Devices read 4 kB even if they are
  // asked for less.
  std::uint64_t block = 4096;
  std::uint64_t gap = 0;             // unneeded bytes that are read rather than making another read
  std::uint64_t most = kMostOfRead;  // of one read; a multiple of `block`
};

class ReadPlan {
 public:
  struct Read {
    std::uint64_t offset;
    std::uint64_t length;  // whole blocks
    std::uint64_t needed;  // of these, what the file has: less in its last block
    std::size_t first;     // wanted rows first … last-1 lie in it, at least in part
    std::size_t last;
  };

  // O(rows). `file_size` is at least the end of the last row.
  ReadPlan(std::span<const std::int64_t> rows, const RowLayout& layout, std::uint64_t file_size,
           const PlanOptions& options);

  std::span<const Read> reads() const { return reads_; }
  std::uint64_t largest() const { return largest_; }  // length of the longest read
  GatherCounts counts() const;

  // Copies what `read` holds of its rows, `bytes`, to their places in `out`. Different reads write
  // to different places.
  void copy_rows(const Read& read, const std::byte* bytes, std::byte* out) const;

 private:
  struct Wanted {
    std::uint64_t row;
    std::uint64_t position;  // in the caller's order
  };

  void add_run(std::uint64_t begin, std::uint64_t end, std::size_t first, std::size_t last,
               std::uint64_t file_size, std::uint64_t most);

  RowLayout layout_;
  RecycledVector<Wanted> wanted_;  // in order of row
  RecycledVector<Read> reads_;
  std::uint64_t unique_rows_ = 0;
  std::uint64_t largest_ = 0;
};

}  // namespace gz
