#include "core/gather/row_cache.h"

#include <algorithm>
#include <mutex>
#include <span>
#include <utility>

#include "core/base/parallel.h"

namespace gz {
namespace {

// Read at a time: enough for a deep queue, few enough to be interrupted soon.
constexpr std::size_t kBytesAtOnce = std::size_t{64} << 20;
constexpr std::size_t kRowsAtOnce = std::size_t{1} << 18;  // a plan takes 40 bytes of each

}  // namespace

RowCache::RowCache(const RowLayout& layout, RowSet rows)
    : row_bytes_(layout.row_bytes), rows_(std::move(rows)) {
  memory_ = hand_out(std::max<std::uint64_t>(rows_.count() * row_bytes_, 1));
}

void RowCache::fill(RowReader& reader) {
  const std::size_t at_once = std::clamp<std::size_t>(kBytesAtOnce / row_bytes_, 1, kRowsAtOnce);
  RecycledVector<std::int64_t> rows;
  std::uint64_t rank = 0;
  // Fresh memory takes longer to come by than rows do, so all threads ask for some.
  const auto read = [&] {
    if (rank > filled_) {
      const auto threads = static_cast<std::size_t>(num_threads());
      std::mutex mutex;
      parallel_chunks(rows.size(), (rows.size() + threads - 1) / threads,
                      [&](std::size_t begin, std::size_t end) {
                        const auto part = std::span(rows).subspan(begin, end - begin);
                        const GatherCounts counts = reader.gather(part, place(filled_ + begin));
                        const std::lock_guard lock(mutex);
                        counts_ += counts;
                      });
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
  rows_.for_each(add);
  read();
}

}  // namespace gz
