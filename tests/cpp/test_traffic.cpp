#include <cmath>
#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "core/pipeline/traffic.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

bool is_near(double found, double expected, double relative) {
  return std::abs(found - expected) <= relative * std::abs(expected);
}

TEST(bands_of_a_file_have_the_visits_of_their_rows) {
  const std::vector<std::int64_t> visits = {10, 10, 11, 5000, 9999};
  const std::vector<HeatBand> bands = bands_in_file(visits, 2, 10, 10'000);
  double rows = 0, sum = 0;
  for (const HeatBand& band : bands) {
    rows += band.rows;
    sum += band.visits;
  }
  EXPECT(rows == 9990 && sum == 2.5);
  EXPECT(bands.front().visits == 1.5 && bands.back().visits == 0.5);
  EXPECT(bands_in_file({}, 2, 7, 7).empty());
}

TEST(bands_of_scores_are_from_the_hottest_on) {
  const std::vector<float> scores = {0.0f, 3.0f, 0.001f, 3.0f, 0.5f};
  const std::vector<HeatBand> bands = bands_of_scores(scores);
  EXPECT(bands.size() == 4);
  EXPECT(bands[0].rows == 2 && bands[0].visits == 6);
  EXPECT(bands[1].visits == 0.5);
  EXPECT(bands[3].rows == 1 && bands[3].visits == 0);
}

TEST(the_hottest_rows_are_not_missed) {
  const RowTraffic traffic({{100, 50}, {1000, 10}}, true, 512, ReadCost());
  EXPECT(traffic.misses(0) == 60);
  EXPECT(traffic.misses(50) == 35);
  EXPECT(traffic.misses(100) == 10);
  EXPECT(traffic.misses(600) == 5);
  EXPECT(traffic.misses(5000) == 0);
  EXPECT(traffic.sweep(5000, 3).bytes == 0);
  EXPECT(RowTraffic().misses(0) == 0);
}

// A slow look at the law: batches of random rows, their pages, and reads that pass small gaps.
RowTraffic::Cost simulated(const std::vector<HeatBand>& bands, std::uint64_t rows_of_page,
                           const ReadCost& cost, int batches, Rng rng) {
  RowTraffic::Cost sum;
  for (const HeatBand& band : bands) {
    const auto rows = static_cast<std::uint64_t>(band.rows);
    std::vector<bool> needed(rows / rows_of_page);
    for (double i = 0; i < band.visits * batches; ++i)
      needed[rng.below(rows) / rows_of_page] = true;
    const std::uint64_t gap = cost.gap() / 4096;
    std::uint64_t passed = gap + 1, pages = 0, reads = 0;
    for (const bool is_needed : needed) {
      if (!is_needed) {
        ++passed;
        continue;
      }
      if (passed > gap) {
        ++reads;
      } else {
        pages += passed;
      }
      ++pages;
      passed = 0;
    }
    const auto bytes = static_cast<double>(pages) * 4096;
    sum.bytes += bytes;
    sum.seconds +=
        (static_cast<double>(reads) + bytes / 65536) * cost.per_read + bytes * cost.per_byte;
  }
  return sum;
}

TEST(a_sweep_costs_what_a_simulated_one_does) {
  const ReadCost cost;
  const std::vector<HeatBand> bands = {{160'000, 4000}, {1'600'000, 3000}};
  const RowTraffic traffic(bands, true, 512, cost);
  for (const int batches : {1, 5, 40, 400}) {
    const RowTraffic::Cost found = traffic.sweep(0, batches);
    const RowTraffic::Cost slow = simulated(bands, 8, cost, batches, Rng(9, {1}));
    EXPECT(is_near(found.bytes, slow.bytes, 0.03));
    EXPECT(is_near(found.seconds, slow.seconds, 0.03));
  }
}

TEST(cold_rows_among_cached_ones_are_spread_over_the_file) {
  const std::vector<HeatBand> bands = {{800'000, 50'000}, {800'000, 1000}};
  const ReadCost cost;
  const RowTraffic by_id(bands, false, 512, cost), sorted(bands, true, 512, cost);
  const RowTraffic::Cost found = by_id.sweep(800'000, 10);
  const RowTraffic::Cost slow = simulated({{1'600'000, 1000}}, 8, cost, 10, Rng(9, {2}));
  EXPECT(is_near(found.bytes, slow.bytes, 0.03));
  EXPECT(found.seconds > sorted.sweep(800'000, 10).seconds);
}

TEST(a_sweep_of_enough_batches_reads_all_that_is_not_cached_once) {
  const RowTraffic traffic({{100'000, 100}}, true, 4096, ReadCost());
  EXPECT(is_near(traffic.sweep(20'000, 1e6).bytes, 80'000.0 * 4096, 1e-6));
  const RowTraffic wide({{1000, 1}}, true, 100'000, ReadCost());
  EXPECT(is_near(wide.sweep(0, 1e6).bytes, 1e8, 1e-6));
}

}  // namespace
}  // namespace gz
