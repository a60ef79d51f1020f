// How rows get from a file into memory: one interface, one reader per file beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/gather/row_copy.h"

namespace gz {

// Where the rows of a file are. Rows are of equal size and lie back to back; readers are not asked
// for rows of no bytes.
struct RowLayout {
  std::uint64_t data_offset = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t num_rows = 0;

  std::uint64_t begin_of(std::uint64_t row) const { return data_offset + row * row_bytes; }
};

struct GatherCounts {
  std::uint64_t rows = 0;  // that were asked for

  // Zero for reads through a mapping: what those cost is between the kernel and its page cache.
  std::uint64_t direct_rows = 0;  // of `rows`
  std::uint64_t unique_rows = 0;  // different ones among those read together
  std::uint64_t device_reads = 0;
  std::uint64_t device_bytes = 0;

  GatherCounts& operator+=(const GatherCounts& other) {
    rows += other.rows;
    direct_rows += other.direct_rows;
    unique_rows += other.unique_rows;
    device_reads += other.device_reads;
    device_bytes += other.device_bytes;
    return *this;
  }
};

class RowReader {
 public:
  virtual ~RowReader() = default;

  // Copies row rows[i] to out + i * row_bytes. Every row is below num_rows; `out` has room for all.
  // The bytes are the same for every reader and any number of threads. Safe on many threads. Throws
  // IoError; then `out` holds anything, but nothing writes to it any more.
  virtual GatherCounts gather(std::span<const std::int64_t> rows, std::byte* out) = 0;

  // The same through `copy`: row rows[i], of the scale scales[i], becomes copy.out_bytes() bytes at
  // out + i * copy.out_bytes(). Takes some megabytes at most besides `out`.
  virtual GatherCounts gather_converted(std::span<const std::int64_t> rows,
                                        std::span<const float> scales, const RowCopy& copy,
                                        std::byte* out);
};

}  // namespace gz
