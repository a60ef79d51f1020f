#include "core/gather/read_plan.h"

#include <algorithm>
#include <cstring>

#include "core/base/radix_sort.h"

namespace gz {

ReadPlan::ReadPlan(std::span<const std::int64_t> rows, const RowLayout& layout,
                   std::uint64_t file_size, const PlanOptions& options)
    : layout_(layout), wanted_(rows.size()) {
  if (rows.empty() || layout.row_bytes == 0) return;
  for (std::size_t i = 0; i < rows.size(); ++i)
    wanted_[i] = {static_cast<std::uint64_t>(rows[i]), i};
  RecycledVector<Wanted> scratch(rows.size());
  radix_sort(wanted_, scratch, 0, bits_below(layout.num_rows),
             [](const Wanted& wanted) { return wanted.row; });

  const std::uint64_t block = options.block;
  std::uint64_t begin = 0, end = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    if (i > 0 && wanted_[i].row == wanted_[i - 1].row) continue;
    ++unique_rows_;
    const std::uint64_t row_begin = layout.begin_of(wanted_[i].row) / block * block;
    const std::uint64_t row_end = (layout.begin_of(wanted_[i].row + 1) + block - 1) / block * block;
    if (i == 0) {
      begin = row_begin;
    } else if (row_begin > end + options.gap ||
               (row_begin >= end && row_end - begin > options.most)) {
      // Where a read ends anyway, nothing is gained by bridging a gap.
      add_run(begin, end, first, i, file_size, options.most);
      begin = row_begin;
      first = i;
    }
    end = row_end;
  }
  add_run(begin, end, first, wanted_.size(), file_size, options.most);
}

void ReadPlan::add_run(std::uint64_t begin, std::uint64_t end, std::size_t first, std::size_t last,
                       std::uint64_t file_size, std::uint64_t most) {
  std::size_t from = first;
  for (std::uint64_t offset = begin; offset < end; offset += most) {
    const std::uint64_t length = std::min(most, end - offset);
    while (layout_.begin_of(wanted_[from].row + 1) <= offset) ++from;
    std::size_t to = from;
    while (to < last && layout_.begin_of(wanted_[to].row) < offset + length) ++to;
    if (from == to) continue;  // a gap that was not worth bridging after all
    reads_.push_back({offset, length, std::min(length, file_size - offset), from, to});
    largest_ = std::max(largest_, length);
  }
}

GatherCounts ReadPlan::counts() const {
  GatherCounts counts;
  counts.rows = counts.direct_rows = wanted_.size();
  counts.unique_rows = unique_rows_;
  counts.device_reads = reads_.size();
  for (const Read& read : reads_) counts.device_bytes += read.needed;
  return counts;
}

void ReadPlan::copy_rows(const Read& read, const std::byte* bytes, std::byte* out) const {
  for (std::size_t i = read.first; i < read.last; ++i) {
    const std::uint64_t row_begin = layout_.begin_of(wanted_[i].row);
    const std::uint64_t begin = std::max(row_begin, read.offset);
    const std::uint64_t end = std::min(row_begin + layout_.row_bytes, read.offset + read.length);
    std::memcpy(out + wanted_[i].position * layout_.row_bytes + (begin - row_begin),
                bytes + (begin - read.offset), end - begin);
  }
}

}  // namespace gz
