// Rows through the mapping: for files that the page cache can hold.
#pragma once

#include <memory>

#include "core/base/file.h"
#include "core/gather/row_reader.h"
#include "core/store/cold_detector.h"

namespace gz {

class MmapReader final : public RowReader {
 public:
  MmapReader(std::shared_ptr<const MappedFile> mapping, const RowLayout& layout)
      : mapping_(std::move(mapping)),
        layout_(layout),
        as_stored_(Dtype::kUint8, false, layout.row_bytes, {}) {}

  GatherCounts gather(std::span<const std::int64_t> rows, std::byte* out) override;
  // Straight from the mapping.
  GatherCounts gather_converted(std::span<const std::int64_t> rows, std::span<const float> scales,
                                const RowCopy& copy, std::byte* out) override;

 private:
  std::shared_ptr<const MappedFile> mapping_;
  RowLayout layout_;
  RowCopy as_stored_;
  ColdDetector cold_detector_;
};

}  // namespace gz
