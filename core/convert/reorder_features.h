// Writes a .gd anew with its rows in another order, whatever its size, in bounded memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "core/base/file.h"
#include "core/format/gd.h"
#include "core/format/row_places.h"

namespace gz {

struct ReorderOptions {
  std::uint64_t memory = 0;      // for rows on their way, besides the order itself
  std::string temporary_folder;  // for what does not fit, as much as the file
};

// Rows that fit the memory are read and written once. Others are read in order and go through
// RowBuckets, each a range of the output that fits: two reads and two writes, all in long
// stretches, whatever the size.
class FeatureReorderer {
 public:
  // Throws IoError or FormatError if `path` cannot be read.
  explicit FeatureReorderer(std::string path);

  std::uint64_t num_rows() const { return layout_.shape[0]; }
  // What write() uses even if told less.
  std::uint64_t least_memory() const;

  // `places` are by id, also if the file is reordered already; the order takes their size once
  // more then. `path` may be the source itself: it is replaced when the new file is complete.
  // Throws std::invalid_argument if `places` are not as many as rows, FormatError if the source's
  // own row map is no permutation, IoError.
  void write(const std::string& path, const RowPlaces& places, const ReorderOptions& options);

  // Bytes of rows that write() has read and written, and how many that will be. Safe on other
  // threads.
  std::uint64_t done() const { return done_.load(std::memory_order_relaxed); }
  std::uint64_t total(std::uint64_t memory) const;

 private:
  template <class Id>
  class Job;

  std::uint64_t rows_per_bucket(std::uint64_t memory) const;

  File file_;
  GdLayout layout_;
  std::uint64_t row_bytes_;
  std::uint64_t scale_bytes_;  // of a row
  std::atomic<std::uint64_t> done_{0};
};

}  // namespace gz
