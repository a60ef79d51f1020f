// Rows through the mapping: for files that the page cache can hold.
#pragma once

#include <memory>

#include "core/base/file.h"
#include "core/gather/row_reader.h"
#include "core/store/warmth.h"

namespace gz {

class MmapReader final : public RowReader {
 public:
  MmapReader(std::shared_ptr<const MappedFile> mapping, const RowLayout& layout)
      : mapping_(std::move(mapping)), layout_(layout) {}

  GatherCounts gather(std::span<const std::int64_t> rows, std::byte* out) override;

 private:
  std::shared_ptr<const MappedFile> mapping_;
  RowLayout layout_;
  Warmth warmth_;
};

}  // namespace gz
