#include "core/pipeline/traffic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "core/base/types.h"
#include "core/gather/read_plan.h"

namespace gz {
namespace {

// Enough to tell the size of a cache to a tenth of a percent.
constexpr std::uint64_t kBands = 1024;
// The exponent of a float, and three bits behind it.
constexpr int kScoreShift = 20;

}  // namespace

std::vector<HeatBand> bands_in_file(std::span<const std::int64_t> visits, std::size_t num_batches,
                                    std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return {};
  const std::uint64_t rows = (end - begin + kBands - 1) / kBands;
  std::vector<HeatBand> bands((end - begin + rows - 1) / rows);
  for (std::size_t i = 0; i < bands.size(); ++i)
    bands[i].rows = static_cast<double>(std::min(rows, end - begin - i * rows));
  const double share = 1 / static_cast<double>(std::max<std::size_t>(num_batches, 1));
  for (const std::int64_t row : visits)
    bands[(static_cast<std::uint64_t>(row) - begin) / rows].visits += share;
  return bands;
}

std::vector<HeatBand> bands_of_scores(std::span<const float> scores) {
  std::vector<HeatBand> bands(std::size_t{1} << (31 - kScoreShift));
  for (const float score : scores) {  // positive, and so in the order of their bits
    HeatBand& band = bands[bands.size() - 1 - (std::bit_cast<std::uint32_t>(score) >> kScoreShift)];
    band.rows += 1;
    band.visits += score;
  }
  std::erase_if(bands, [](const HeatBand& band) { return band.rows == 0; });
  return bands;
}

RowTraffic::RowTraffic(std::vector<HeatBand> bands, bool is_sorted, std::uint64_t row_bytes,
                       const ReadCost& cost)
    : bands_(std::move(bands)), is_sorted_(is_sorted), row_bytes_(row_bytes), cost_(cost) {}

template <class Body>
void RowTraffic::for_each_uncached(double cached_rows, Body&& body) const {
  for (const HeatBand& band : bands_) {
    const double cached = std::clamp(cached_rows, 0.0, band.rows);
    cached_rows -= cached;
    if (cached == band.rows) continue;
    const double left = band.rows - cached;
    body(HeatBand{left, band.visits * left / band.rows});
  }
}

double RowTraffic::misses(double cached_rows) const {
  double sum = 0;
  for_each_uncached(cached_rows, [&](const HeatBand& band) { sum += band.visits; });
  return sum;
}

RowTraffic::Cost RowTraffic::sweep(double cached_rows, double batches) const {
  Cost sum;
  if (is_sorted_) {
    for_each_uncached(cached_rows, [&](const HeatBand& band) { sum += sweep_band(band, batches); });
    return sum;
  }
  // Cold rows lie between cached ones.
  HeatBand all;
  for (const HeatBand& band : bands_) all.rows += band.rows;
  all.visits = misses(cached_rows);
  return sweep_band(all, batches);
}

// Each page is needed with the same probability, on its own: gaps between needed pages have a
// geometric distribution. Those up to the read gap are read, too.
RowTraffic::Cost RowTraffic::sweep_band(const HeatBand& band, double batches) const {
  if (band.rows <= 0 || band.visits <= 0) return {};
  const double unit = static_cast<double>(std::max<std::uint64_t>(row_bytes_, kPage));
  const double rows_of_unit = unit / static_cast<double>(std::max<std::uint64_t>(row_bytes_, 1));
  const double units = band.rows / rows_of_unit;
  const double none = std::exp(-batches * band.visits / units);  // the probability
  const auto gap = static_cast<int>(static_cast<double>(cost_.gap()) / unit);
  double unneeded = 0;
  double power = 1;
  for (int k = 1; k <= gap; ++k) {
    power *= none;
    unneeded += k * power * (1 - none);
  }
  const double needed = units * (1 - none);
  Cost cost;
  cost.bytes = needed * (1 + unneeded) * unit;
  const double reads = needed * power * none + cost.bytes / static_cast<double>(kMostOfRead);
  cost.seconds = reads * cost_.per_read + cost.bytes * cost_.per_byte;
  return cost;
}

}  // namespace gz
