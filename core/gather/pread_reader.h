// Rows from the device by many threads that block: for systems that have or allow no io_uring.
#pragma once

#include <memory>

#include "core/base/direct_file.h"
#include "core/gather/read_plan.h"
#include "core/gather/row_reader.h"

namespace gz {

class PreadReader final : public RowReader {
 public:
  // `file_size` is what the layout was proven against.
  PreadReader(std::shared_ptr<const DirectFile> file, const RowLayout& layout,
              std::uint64_t file_size, const PlanOptions& options)
      : file_(std::move(file)), layout_(layout), file_size_(file_size), options_(options) {}

  GatherCounts gather(std::span<const std::int64_t> rows, std::byte* out) override;

 private:
  std::shared_ptr<const DirectFile> file_;
  RowLayout layout_;
  std::uint64_t file_size_;
  PlanOptions options_;
};

// Reads and copies some reads of a plan.
void read_by_threads(const DirectFile& file, const ReadPlan& plan,
                     std::span<const ReadPlan::Read> reads, std::byte* out);

// The plan's options for what the device asks for and what its reads cost (read_cost.h). Throws
// std::invalid_argument if GRAPHZERO_READ_GAP is no size.
PlanOptions plan_options(const DirectFile& file, std::uint64_t file_size);

}  // namespace gz
