// A mounted .gd: the mapping is the array.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/types.h"
#include "core/format/gd.h"

namespace gz {

// Safe to share between threads.
class Features {
 public:
  // O(1) in time and memory. Throws IoError or FormatError.
  explicit Features(const std::string& path);

  const std::string& path() const { return mapping_->path(); }
  const GdLayout& layout() const { return layout_; }
  // What the engine reads.
  const std::shared_ptr<const MappedFile>& mapping() const { return mapping_; }

  std::int64_t num_rows() const { return static_cast<std::int64_t>(layout_.shape[0]); }
  std::uint64_t row_bytes() const { return row_bytes_; }

  bool is_reordered() const { return false; }
  void translate(std::span<const std::int64_t> ids, std::span<std::int64_t> rows) const {
    std::copy(ids.begin(), ids.end(), rows.begin());
  }
  // One per row, in the engine's mapping; empty if the array is not quantised.
  std::span<const float> scales() const;

  // The mapping behind tensors handed to users, apart from the engine's own: made at the first call
  // for its mode, then shared, with the advice asked for last. Throws IoError where the kernel
  // refuses a copy-on-write one (strict overcommit, RLIMIT_DATA).
  std::shared_ptr<const MappedFile> view(MappedFile::Mode mode, Advice advice) const;

  // A copy of row `row`. Throws std::out_of_range.
  std::vector<std::uint8_t> read_row(std::int64_t row) const;

 private:
  std::shared_ptr<const File> file_;
  GdLayout layout_;
  std::shared_ptr<const MappedFile> mapping_;
  std::uint64_t row_bytes_ = 0;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const MappedFile> views_[2];  // by mode
};

}  // namespace gz
