#include "core/gather/pread_reader.h"

#include <algorithm>

#include "core/base/parallel.h"
#include "core/gather/read_cost.h"

namespace gz {
namespace {

// Each waits for one read at a time, so their number is the depth of the device's queue. Twice as
// many were slower on two cores.
constexpr std::size_t kThreads = 32;
// Fewer reads than this are not worth waking another thread.
constexpr std::size_t kFewest = 4;

void read_in_turn(const DirectFile& file, const ReadPlan& plan,
                  std::span<const ReadPlan::Read> reads, std::byte* out) {
  const DirectMemory memory(plan.largest(), file.alignment());
  for (const ReadPlan::Read& read : reads) {
    file.read_at({memory.data(), read.length}, read.needed, read.offset);
    plan.copy_rows(read, memory.data(), out);
    check_interrupt();
  }
}

}  // namespace

PlanOptions plan_options(const DirectFile& file, std::uint64_t file_size) {
  PlanOptions options;
  options.block = std::max(options.block, file.alignment());
  options.gap = read_gap(file, file_size);
  options.most = std::max({options.most, options.block, 2 * options.gap});
  return options;
}

void read_by_threads(const DirectFile& file, const ReadPlan& plan,
                     std::span<const ReadPlan::Read> reads, std::byte* out) {
  const std::size_t grain = std::clamp<std::size_t>(reads.size() / (4 * kThreads), kFewest, 64);
  parallel_chunks(
      reads.size(), grain,
      [&](std::size_t begin, std::size_t end) {
        read_in_turn(file, plan, reads.subspan(begin, end - begin), out);
      },
      kThreads);
}

GatherCounts PreadReader::gather(std::span<const std::int64_t> rows, std::byte* out) {
  const ReadPlan plan(rows, layout_, file_size_, options_);
  read_by_threads(*file_, plan, plan.reads(), out);
  return plan.counts();
}

}  // namespace gz
