// A mounted .gd: the mapping is the array.
#pragma once

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
#include "core/store/row_map.h"

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

  // Whether rows are stored in another order than that of their ids. All arguments called `id` are
  // a user's ids; `layout().data_offset` and scales() follow the stored order.
  bool is_reordered() const { return row_map_ != nullptr; }
  // Null if not reordered.
  const std::shared_ptr<const RowMap>& row_map() const { return row_map_; }

  // The stored row of `id`: one of them, or as many as there are. translate() trusts its ids, which
  // are below num_rows(), and belongs inside guarded(*mapping(), …). Throw FormatError if the file
  // names a row that is not there, stored_row() std::out_of_range if `id` is none.
  std::int64_t stored_row(std::int64_t id) const;
  void translate(std::span<const std::int64_t> ids, std::span<std::int64_t> rows) const;

  // One per stored row, in the engine's mapping; empty if the array is not quantised.
  std::span<const float> scales() const;
  // out[i] = the scale of row ids[i]. Throws std::invalid_argument if the array is not quantised,
  // std::out_of_range for an id that is no row, and its position.
  void scales_of(std::span<const std::int64_t> ids, std::span<float> out) const;

  // The mapping behind tensors handed to users, apart from the engine's own: made at the first call
  // for its mode, then shared, with the advice asked for last. Throws IoError where the kernel
  // refuses a copy-on-write one (strict overcommit, RLIMIT_DATA).
  std::shared_ptr<const MappedFile> view(MappedFile::Mode mode, Advice advice) const;

  // A copy of row `id`. Throws as stored_row().
  std::vector<std::uint8_t> read_row(std::int64_t id) const;

 private:
  std::shared_ptr<const File> file_;
  GdLayout layout_;
  std::shared_ptr<const MappedFile> mapping_;
  std::shared_ptr<const RowMap> row_map_;
  std::uint64_t row_bytes_ = 0;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const MappedFile> views_[2];  // by mode
};

}  // namespace gz
