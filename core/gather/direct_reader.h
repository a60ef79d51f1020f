// Rows from the device, past the page cache: through io_uring, or by threads that block.
#pragma once

#include <memory>

#include "core/base/direct_file.h"
#include "core/gather/read_plan.h"
#include "core/gather/row_reader.h"

namespace gz {

class DirectReader final : public RowReader {
 public:
  enum class By {
    kRing,     // io_uring with a deep queue; by threads where it gets no ring
    kThreads,  // for systems that have or allow no io_uring
  };

  // By kRing sets up a ring to see that the kernel allows it; throws its IoError. `file_size` is
  // what the layout was proven against.
  DirectReader(std::shared_ptr<const DirectFile> file, const RowLayout& layout,
               std::uint64_t file_size, const PlanOptions& options, By by);

  GatherCounts gather(std::span<const std::int64_t> rows, std::byte* out) override;

 private:
  std::shared_ptr<const DirectFile> file_;
  RowLayout layout_;
  std::uint64_t file_size_;
  PlanOptions options_;
  By by_;
};

// The plan's options for what the device asks for and what its reads cost (read_cost.h). Throws
// std::invalid_argument if GRAPHZERO_READ_GAP is no size.
PlanOptions plan_options(const DirectFile& file, std::uint64_t file_size);

}  // namespace gz
