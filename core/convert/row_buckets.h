// Rows on their way into another order than they come in, in bounded memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/temporary_file.h"

namespace gz {

// A bucket is a range of `bucket_rows` places. Rows are added in any order; as many as fit are held
// and written to a temporary file grouped by bucket. Later, each bucket is read back, in long
// stretches. For one thread at a time.
class RowBuckets {
 public:
  // Read and written at a time: long for any device, short beside the memory.
  static constexpr std::uint64_t kBlock = 2 << 20;
  // The most rows of a bucket: a place in it takes four bytes.
  static constexpr std::uint64_t kMostRows = std::uint64_t{1} << 32;

  // Holds `room` bytes, or one row. Files are made in `folder`.
  RowBuckets(const std::string& folder, std::uint64_t bucket_rows, std::uint64_t row_bytes,
             std::uint64_t room);

  // The `row_bytes` bytes of a row for `place`, for the caller to fill before the next call. Throws
  // IoError, for instance if the disk is full.
  std::byte* add(std::uint64_t place);

  // After the last add(): writes what is held, and gives the memory back.
  void close();

  struct Row {
    std::uint32_t place;  // within the bucket
    const std::byte* bytes;
  };
  // body(count, row) for all rows of a bucket, some at a time, in the order in which they were
  // added; row(i) gives Row i of these. After close().
  template <class Body>
  void read(std::uint64_t bucket, Body&& body) const {
    const std::uint64_t at_once = std::max<std::uint64_t>(kBlock / record_bytes_, 1);
    std::unique_ptr<std::byte[]> records;
    const auto row = [&](std::uint64_t i) {
      const std::byte* const record = records.get() + i * record_bytes_;
      Row row = {0, record + sizeof row.place};
      std::memcpy(&row.place, record, sizeof row.place);
      return row;
    };
    for (auto run = std::lower_bound(runs_.begin(), runs_.end(), Run{bucket, 0, 0}, comes_before);
         run != runs_.end() && run->bucket == bucket; ++run) {
      if (!records) records = std::make_unique_for_overwrite<std::byte[]>(at_once * record_bytes_);
      for (std::uint64_t first = 0; first < run->count; first += at_once) {
        const std::uint64_t count = std::min(at_once, run->count - first);
        file_.read_exact_at({records.get(), count * record_bytes_},
                            run->offset + first * record_bytes_);
        body(count, row);
        check_interrupt();
      }
    }
  }

 private:
  // A record that is held: it lies at `index`, and is behind a place of four bytes.
  struct Held {
    std::uint32_t bucket;
    std::uint32_t index;
  };
  // Records of one bucket that lie together in the file.
  struct Run {
    std::uint64_t bucket;
    std::uint64_t count;
    std::uint64_t offset;
  };
  static bool comes_before(const Run& a, const Run& b) { return a.bucket < b.bucket; }

  void flush();
  void append_records();

  std::uint64_t bucket_rows_;
  std::uint64_t record_bytes_;
  std::uint64_t most_held_;
  std::unique_ptr<std::byte[]> records_;
  std::vector<Held> held_, scratch_;
  TemporaryFile file_;
  std::vector<Run> runs_;
};

}  // namespace gz
