#include "core/gather/row_shares.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/base/checked.h"
#include "core/base/error.h"
#include "core/base/parallel.h"

namespace gz {
namespace {

// Up to here a loop over all bounds, which the processor foresees, beats a binary search.
constexpr std::size_t kFewHosts = 16;

// Bytes of rows that a thread copies at a time.
constexpr std::size_t kChunkBytes = 512 << 10;

}  // namespace

RowShares::RowShares(std::vector<NodeId> bounds, std::span<const NodeId> hot)
    : bounds_(std::move(bounds)) {
  if (bounds_.size() < 2 || bounds_.front() != 0 || !std::ranges::is_sorted(bounds_))
    throw std::invalid_argument("bounds: expected 0, then numbers that do not fall");
  if (hot.empty()) return;
  hot_.emplace(static_cast<std::uint64_t>(bounds_.back()));
  for (std::size_t i = 0; i < hot.size(); ++i) {
    const NodeId least = i == 0 ? 0 : hot[i - 1] + 1;
    if (hot[i] < least || hot[i] >= bounds_.back()) {
      throw std::invalid_argument(concat("hot[", i, "]: expected a row from ", least, " to below ",
                                         bounds_.back(), ", found ", hot[i]));
    }
    hot_->choose(static_cast<std::uint64_t>(hot[i]));
  }
  hot_->count();
}

std::size_t RowShares::host_of(NodeId id) const {
  const std::size_t num_hosts = bounds_.size() - 1;
  if (num_hosts > kFewHosts) {
    const auto above = std::upper_bound(bounds_.begin(), bounds_.end(), id);
    return static_cast<std::size_t>(above - bounds_.begin()) - 1;
  }
  std::size_t host = 0;
  for (std::size_t i = 1; i < num_hosts; ++i) host += id >= bounds_[i] ? 1 : 0;
  return host;
}

RowSplit RowShares::split(std::span<const NodeId> ids) const {
  const std::size_t num_homes = bounds_.size();  // the rows that every host has, and each host
  RowSplit split;
  split.counts.resize(num_homes);
  split.rows.extend(ids.size());
  split.places.extend(ids.size());
  Buffer<std::uint32_t> homes;
  homes.extend(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const NodeId id = ids[i];
    if (id < 0 || id >= bounds_.back()) {
      throw std::out_of_range(
          concat("ids[", i, "]: expected a row below ", bounds_.back(), ", found ", id));
    }
    const bool is_hot = hot_ && hot_->has(static_cast<std::uint64_t>(id));
    homes[i] = static_cast<std::uint32_t>(is_hot ? 0 : 1 + host_of(id));
    ++split.counts[homes[i]];
  }
  std::vector<std::int64_t> next(num_homes);
  for (std::size_t home = 1; home < num_homes; ++home)
    next[home] = next[home - 1] + split.counts[home - 1];
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::uint32_t home = homes[i];
    const std::int64_t place = next[home]++;
    const auto id = static_cast<std::uint64_t>(ids[i]);
    split.rows[static_cast<std::size_t>(place)] =
        home == 0 ? static_cast<std::int64_t>(hot_->rank(id)) : ids[i] - bounds_[home - 1];
    split.places[i] = place;
  }
  return split;
}

void place_rows(const RowCopy& copy, std::span<const std::byte> rows, std::span<const float> scales,
                std::span<const std::int64_t> places, std::span<std::byte> out) {
  const auto bytes = checked_mul(places.size(), copy.out_bytes());
  if (!bytes || *bytes != out.size()) {
    throw std::invalid_argument(concat("out: expected ", places.size(), " rows of ",
                                       copy.out_bytes(), " bytes, found ", out.size(), " bytes"));
  }
  const std::uint64_t width = copy.stored_bytes();
  if (copy.out_bytes() == 0) return;
  const std::uint64_t num_rows = width == 0 ? scales.size() : rows.size() / width;
  if (copy.needs_scales() && scales.size() != num_rows) {
    throw std::invalid_argument(
        concat("scales: expected ", num_rows, ", one for each row, found ", scales.size()));
  }
  const std::size_t grain = std::clamp<std::size_t>(kChunkBytes / copy.out_bytes(), 16, 1 << 16);
  parallel_chunks(places.size(), grain, [&](std::size_t begin, std::size_t end) {
    const auto part = places.subspan(begin, end - begin);
    Buffer<float> own;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (static_cast<std::uint64_t>(part[i]) < num_rows) continue;
      throw std::out_of_range(
          concat("places[", begin + i, "]: expected one of ", num_rows, " rows, found ", part[i]));
    }
    if (copy.needs_scales()) {
      float* const scale = own.extend(part.size());
      for (std::size_t i = 0; i < part.size(); ++i)
        scale[i] = scales[static_cast<std::size_t>(part[i])];
    }
    copy.copy(rows.data(), part, own.span(), out.data() + begin * copy.out_bytes());
  });
}

}  // namespace gz
