#include "core/gather/row_cache.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/base/parallel.h"

namespace gz {
namespace {

// Of a part: enough for a deep queue, few enough to be interrupted soon and for every thread to
// have some. Fresh memory takes longer to come by than rows do.
constexpr std::uint64_t kBytesOfPart = 16 << 20;
constexpr std::size_t kRowsAtOnce = std::size_t{1} << 18;  // a plan takes 40 bytes of each

}  // namespace

RowCache::RowCache(const RowLayout& layout, RowSet rows)
    : row_bytes_(layout.row_bytes), rows_(std::move(rows)) {
  const std::uint64_t bytes = rows_.count() * row_bytes_;
  memory_ = hand_out(std::max<std::uint64_t>(bytes, 1));
  const std::uint64_t parts = std::max<std::uint64_t>((bytes + kBytesOfPart - 1) / kBytesOfPart, 1);
  const std::uint64_t among = rows_.end() - rows_.begin();
  rows_per_part_ = std::max<std::uint64_t>((among + parts - 1) / parts, 1);
  num_parts_ = static_cast<std::size_t>((among + rows_per_part_ - 1) / rows_per_part_);
}

std::size_t RowCache::begin_part() {
  const std::lock_guard lock(mutex_);
  if (!failed_parts_.empty()) {
    const std::size_t part = failed_parts_.back();
    failed_parts_.pop_back();
    return part;
  }
  return next_part_ < num_parts_ ? next_part_++ : num_parts_;
}

bool RowCache::has_part_to_begin() const {
  const std::lock_guard lock(mutex_);
  return !failed_parts_.empty() || next_part_ < num_parts_;
}

void RowCache::fill(RowReader& reader, std::size_t part) {
  GatherCounts counts;
  RecycledVector<std::int64_t> rows;
  const auto read = [&] {
    if (rows.empty()) return;
    check_interrupt();
    counts += reader.gather(rows, place(rows_.find(static_cast<std::uint64_t>(rows.front()))));
    rows.clear();
  };
  try {
    const std::uint64_t first = rows_.begin() + part * rows_per_part_;
    const std::uint64_t last = std::min(first + rows_per_part_, rows_.end());
    rows_.for_each(first, last, [&](std::uint64_t row) {
      rows.push_back(static_cast<std::int64_t>(row));
      if (rows.size() == kRowsAtOnce) read();
    });
    read();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failed_parts_.push_back(part);
    throw;
  }
  {
    const std::lock_guard lock(mutex_);
    counts_ += counts;
  }
  num_filled_.fetch_add(1, std::memory_order_release);
}

GatherCounts RowCache::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace gz
