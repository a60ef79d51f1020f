// Writes a .gd row block by row block.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/path.h"
#include "core/base/temporary_file.h"
#include "core/format/container_writer.h"
#include "core/format/gd.h"

namespace gz {

// append() the rows in order, and append_scales() theirs if the array is quantised; then
// append_row_map() if that order is not the one of their ids, then finish(), which throws if they
// are not as many as the shape says. For one thread at a time.
class GdWriter {
 public:
  GdWriter(const std::string& path, Dtype dtype, const std::vector<std::uint64_t>& shape)
      : container_(path, kGdMagic),
        dtype_(dtype),
        shape_(shape),
        folder_(folder_of(path)),
        scales_(std::make_unique<TemporaryFile>(folder_)) {
    if (shape.empty() || shape.size() > kMaxDimensions) {
      throw std::invalid_argument(
          concat("a feature array has 1 to ", kMaxDimensions, " dimensions, found ", shape.size()));
    }
    byte_size(dtype, shape);  // refuses what no file can hold
    container_.begin(kGdData, dtype, kSectionRequired);
  }

  void append(std::span<const std::byte> rows) {
    container_.append(rows);
    written_ += rows.size();
  }

  // The rows are `length` bytes of `file` from `offset` on.
  void append_from(const File& file, std::uint64_t offset, std::uint64_t length) {
    // Stays in the cache between read, checksum and write, and is written without another copy.
    constexpr std::uint64_t kBlock = 4 << 20;
    std::vector<std::byte> block(static_cast<std::size_t>(std::min(kBlock, length)));
    while (length > 0) {
      const std::span<std::byte> part =
          std::span(block).first(static_cast<std::size_t>(std::min(kBlock, length)));
      file.read_exact_at(part, offset);
      append(part);
      offset += part.size();
      length -= part.size();
    }
  }

  // To write all rows, and scales, anew; see ContainerWriter. Not after append_row_map().
  void rewind() {
    container_.rewind();
    written_ = 0;
    earlier_scales_ = std::exchange(scales_, std::make_unique<TemporaryFile>(folder_));
  }
  void read_back(std::span<std::byte> out, std::uint64_t offset) const {
    container_.read_back(out, offset);
  }
  void read_back_scales(std::span<float> out, std::uint64_t row) const {
    earlier_scales_->read_exact_at(std::as_writable_bytes(out), row * sizeof(float));
  }

  // One per row. Their section follows the rows, so they wait in a file without a name beside it.
  void append_scales(std::span<const float> scales) {
    has_scales_ = true;
    if (!scales.empty()) scales_->append(std::as_bytes(scales));
  }

  // The place of the row of each id, all at once or in parts of one type.
  template <class Id>
  void append_row_map(std::span<const Id> places) {
    if (!has_row_map_) {
      end_rows();
      container_.begin(kGdRowMap, id_dtype(static_cast<IdWidth>(sizeof(Id))), kSectionRequired);
      has_row_map_ = true;
    }
    container_.append(std::as_bytes(places));
    num_places_ += places.size();
  }

  // Where the number of rows is known only at the end: it replaces the one of the shape.
  void set_num_rows(std::uint64_t num_rows) { shape_[0] = num_rows; }

  void finish() {
    const std::uint64_t size = byte_size(dtype_, shape_);
    if (written_ != size) {
      throw std::length_error(concat("expected ", size, " bytes of rows, found ", written_));
    }
    const std::uint64_t num_scales = scales_->size() / sizeof(float);
    if (has_scales_ && num_scales != shape_[0]) {
      throw std::length_error(concat("expected ", shape_[0], " scales, found ", num_scales));
    }
    if (has_row_map_ && num_places_ != shape_[0]) {
      throw std::length_error(concat("expected ", shape_[0], " places, found ", num_places_));
    }
    GdFields fields{};
    fields.dtype = static_cast<std::uint32_t>(dtype_);
    fields.num_dimensions = static_cast<std::uint32_t>(shape_.size());
    std::copy(shape_.begin(), shape_.end(), fields.shape.begin());
    has_row_map_ ? container_.end() : end_rows();
    container_.finish(std::as_bytes(std::span(&fields, 1)), 0);
  }

 private:
  void end_rows() {
    container_.end();
    if (!has_scales_) return;
    container_.begin(kGdScale, Dtype::kFloat32, kSectionRequired);
    scales_->for_each_block([&](std::span<const std::byte> part) { container_.append(part); });
    container_.end();
  }

  ContainerWriter container_;
  Dtype dtype_;
  std::vector<std::uint64_t> shape_;
  std::string folder_;
  std::unique_ptr<TemporaryFile> scales_;
  std::unique_ptr<TemporaryFile> earlier_scales_;  // those before rewind()
  std::uint64_t written_ = 0;
  std::uint64_t num_places_ = 0;
  bool has_scales_ = false;
  bool has_row_map_ = false;
};

}  // namespace gz
