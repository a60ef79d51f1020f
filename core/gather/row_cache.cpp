#include "core/gather/row_cache.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/parallel.h"

namespace gz {
namespace {

// Read at a time: enough for a deep queue, few enough to be interrupted soon.
constexpr std::size_t kBytesAtOnce = std::size_t{64} << 20;
constexpr std::size_t kRowsAtOnce = std::size_t{1} << 20;  // their numbers take memory too

}  // namespace

RowCache::RowCache(const RowLayout& layout, std::uint64_t count)
    : row_bytes_(layout.row_bytes), prefix_(count), count_(count) {
  memory_ = hand_out(std::max<std::uint64_t>(count * row_bytes_, 1));
}

RowCache::RowCache(const RowLayout& layout, ChosenRows chosen)
    : row_bytes_(layout.row_bytes), chosen_(std::move(chosen)) {
  count_ = chosen_->count();
  memory_ = hand_out(std::max<std::uint64_t>(count_ * row_bytes_, 1));
}

void RowCache::fill(RowReader& reader) {
  const std::size_t at_once = std::clamp<std::size_t>(kBytesAtOnce / row_bytes_, 1, kRowsAtOnce);
  std::vector<std::int64_t> rows;
  std::uint64_t rank = 0;
  const auto read = [&] {
    if (rank > filled_) {
      counts_ += reader.gather(rows, place(filled_));
      filled_ = rank;
      check_interrupt();
    }
    rows.clear();
  };
  const auto add = [&](std::uint64_t row) {
    if (rank++ < filled_) return;  // by a call that was interrupted
    rows.push_back(static_cast<std::int64_t>(row));
    if (rows.size() == at_once) read();
  };
  for (std::uint64_t row = 0; row < prefix_; ++row) add(row);
  if (chosen_) chosen_->for_each(add);
  read();
}

}  // namespace gz
