// Writes a .gd row block by row block.
#pragma once

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/format/container_writer.h"
#include "core/format/gd.h"

namespace gz {

// append() the rows in order, then finish(), which throws if they are not as many as the shape
// says.
class GdWriter {
 public:
  GdWriter(std::string path, Dtype dtype, const std::vector<std::uint64_t>& shape)
      : container_(std::move(path), kGdMagic), size_(byte_size(dtype, shape)) {
    if (shape.empty() || shape.size() > kMaxDimensions) {
      throw std::invalid_argument(
          concat("a feature array has 1 to ", kMaxDimensions, " dimensions, found ", shape.size()));
    }
    fields_.dtype = static_cast<std::uint32_t>(dtype);
    fields_.num_dimensions = static_cast<std::uint32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), fields_.shape.begin());
    container_.begin(kGdData, dtype, kSectionRequired);
  }

  void append(std::span<const std::byte> rows) {
    container_.append(rows);
    written_ += rows.size();
  }

  void finish() {
    if (written_ != size_) {
      throw std::length_error(concat("expected ", size_, " bytes of rows, found ", written_));
    }
    container_.end();
    container_.finish(std::as_bytes(std::span(&fields_, 1)), 0);
  }

 private:
  ContainerWriter container_;
  GdFields fields_{};
  std::uint64_t size_;
  std::uint64_t written_ = 0;
};

}  // namespace gz
