#include "core/pipeline/plan.h"

#include <algorithm>
#include <numeric>

#include "core/gather/row_slots.h"

namespace gz {
namespace {

constexpr double kLarger = 1.1;
// Ten batches say little about hundreds.
constexpr double kLeastGrowth = 0.5;
// For a slot and the request for its row.
constexpr std::uint64_t kBesideSlot = 80;
constexpr double kMoreSlots = 1.1;
constexpr double kFewestSlots = 64;

std::uint64_t larger(std::uint64_t bytes) {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * kLarger);
}

// a * b / c, where the product may have 128 bits and the result has 64.
std::uint64_t scaled(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b / c);
}

// Of batches ahead: their samples, which wait packed, and 8 bytes for each miss.
double bytes_of_samples(std::uint64_t sample_bytes, std::span<const MissedRows> missed,
                        double batches) {
  double bytes = static_cast<double>(sample_bytes) / 2;
  for (const MissedRows& rows : missed) bytes += 8 * rows.growth.of_one;
  return bytes * batches;
}

// Of batches ahead: a slot for each row that any of them misses.
double bytes_of_slots(std::span<const MissedRows> missed, double batches) {
  double bytes = 0;
  for (const MissedRows& rows : missed)
    bytes += rows.growth.of(batches) * static_cast<double>(rows.row_bytes + kBesideSlot);
  return bytes;
}

}  // namespace

BatchBytes largest(std::span<const BatchBytes> batches) {
  BatchBytes most;
  for (const BatchBytes& batch : batches) {
    most.sample = std::max(most.sample, batch.sample);
    most.rows = std::max(most.rows, batch.rows);
  }
  return {larger(most.sample), larger(most.rows)};
}

void divide_room(std::uint64_t room, std::span<const std::uint64_t> sizes,
                 const std::function<std::uint64_t(std::size_t, std::uint64_t)>& take) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] < sizes[b]; });
  std::uint64_t left = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  for (const std::size_t i : order) {
    const bool whole = sizes[i] <= room / 4 || room >= left;
    const std::uint64_t taken = take(i, whole ? sizes[i] : scaled(room, sizes[i], left));
    room -= std::min(room, taken);
    left -= sizes[i];
  }
}

Growth growth_of_misses(RecycledVector<std::int64_t> missed, std::size_t num_batches,
                        std::size_t most) {
  const auto total = static_cast<double>(missed.size());
  std::sort(missed.begin(), missed.end());
  const auto different = std::unique(missed.begin(), missed.end()) - missed.begin();
  Growth growth;
  growth.of_one = static_cast<double>(most);
  if (num_batches > 1 && total > 0) {
    const auto count = static_cast<double>(num_batches);
    const double times = static_cast<double>(different) / (total / count);
    growth.power = std::clamp(std::log(times) / std::log(count), kLeastGrowth, 1.0);
  }
  return growth;
}

ReadAhead plan_read_ahead(std::uint64_t window, std::uint64_t sample_bytes,
                          std::size_t most_batches, std::span<const MissedRows> missed) {
  const auto room = static_cast<double>(window);
  const auto fits = [&](std::size_t batches) {
    const auto ahead = static_cast<double>(batches);
    return bytes_of_samples(sample_bytes, missed, ahead) + bytes_of_slots(missed, ahead) <= room;
  };
  ReadAhead plan;
  while (plan.most_batches < most_batches && fits(plan.most_batches + 1)) ++plan.most_batches;
  plan.sample_bytes = sample_bytes / 2;
  // Some to spare where the window has room for them. A batch that alone has more misses than fit
  // there reads the rest when it is assembled.
  const auto ahead = static_cast<double>(plan.most_batches);
  const double of_slots = bytes_of_slots(missed, ahead);
  const double for_slots = room - bytes_of_samples(sample_bytes, missed, ahead);
  const double share = of_slots > 0 ? std::clamp(for_slots / of_slots, 0.0, kMoreSlots) : 0;
  for (const MissedRows& rows : missed) {
    const double slots =
        std::min({rows.growth.of(ahead) * share + kFewestSlots, static_cast<double>(rows.num_rows),
                  static_cast<double>(RowSlots::kNone)});
    plan.rows.push_back(
        {rows.growth.of_one, rows.growth.fresh_share(ahead), static_cast<std::size_t>(slots)});
  }
  return plan;
}

}  // namespace gz
