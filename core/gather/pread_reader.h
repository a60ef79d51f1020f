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
              std::uint64_t file_size)
      : file_(std::move(file)), layout_(layout), file_size_(file_size) {}

  GatherCounts gather(std::span<const std::int64_t> rows, std::byte* out) override;

 private:
  std::shared_ptr<const DirectFile> file_;
  RowLayout layout_;
  std::uint64_t file_size_;
};

// Reads and copies some reads of a plan, one after the other.
void read_in_turn(const DirectFile& file, const ReadPlan& plan,
                  std::span<const ReadPlan::Read> reads, std::byte* out);

// The plan's options for what the device asks for.
PlanOptions plan_options(const DirectFile& file);

}  // namespace gz
