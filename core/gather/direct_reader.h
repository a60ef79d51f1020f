// Rows from the device through io_uring, with a deep queue.
#pragma once

#include <memory>

#include "core/base/direct_file.h"
#include "core/gather/read_plan.h"
#include "core/gather/row_reader.h"

namespace gz {

class DirectReader final : public RowReader {
 public:
  // Sets up a ring to see that the kernel lets us; throws its IoError. `file_size` is what the
  // layout was proven against.
  DirectReader(std::shared_ptr<const DirectFile> file, const RowLayout& layout,
               std::uint64_t file_size, const PlanOptions& options);

  GatherCounts gather(std::span<const std::int64_t> rows, std::byte* out) override;

 private:
  std::shared_ptr<const DirectFile> file_;
  RowLayout layout_;
  std::uint64_t file_size_;
  PlanOptions options_;
};

}  // namespace gz
