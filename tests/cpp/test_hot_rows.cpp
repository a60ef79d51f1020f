#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <vector>

#include "core/base/random.h"
#include "core/pipeline/hot_rows.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

std::vector<std::uint64_t> listed(const ChosenRows& chosen) {
  std::vector<std::uint64_t> rows;
  chosen.for_each(0, chosen.end(), [&](std::uint64_t row) { rows.push_back(row); });
  return rows;
}

std::vector<std::uint64_t> hottest_by_sort(const std::vector<float>& scores, std::size_t count) {
  std::vector<std::uint64_t> rows(scores.size());
  std::iota(rows.begin(), rows.end(), 0u);
  std::stable_sort(rows.begin(), rows.end(),
                   [&](std::uint64_t a, std::uint64_t b) { return scores[a] > scores[b]; });
  rows.resize(std::min(count, rows.size()));
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(the_hottest_are_those_a_sort_puts_first) {
  Rng rng(7, {1});
  for (const std::uint64_t levels : {1u, 3u, 100u, 1'000'000u}) {  // few levels are many ties
    for (const std::size_t size : {0u, 1u, 10u, 1000u}) {
      std::vector<float> scores;
      for (std::size_t i = 0; i < size; ++i)
        scores.push_back(static_cast<float>(rng.below(levels)) * 0.37f);
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, size / 3, size / 2,
                                      size - std::min<std::size_t>(size, 1), size, size + 5})
        EXPECT(listed(hottest(scores, count)) == hottest_by_sort(scores, count));
    }
  }
}

TEST(scores_that_differ_in_their_last_bit_are_told_apart) {
  std::vector<float> scores = {1.0f, std::nextafter(1.0f, 2.0f), std::nextafter(1.0f, 0.0f), 0.0f};
  EXPECT((listed(hottest(scores, 1)) == std::vector<std::uint64_t>{1}));
  EXPECT((listed(hottest(scores, 2)) == std::vector<std::uint64_t>{0, 1}));
  EXPECT((listed(hottest(scores, 3)) == std::vector<std::uint64_t>{0, 1, 2}));
}

TEST(without_visits_neighbor_counts_decide) {
  for (const std::size_t num_batches : {0u, 8u}) {
    const auto scores = expected_visits({5, 0, 100, 7, 1'000'000}, {}, num_batches);
    EXPECT(scores[1] < scores[0] && scores[0] < scores[3]);
    EXPECT(scores[3] < scores[2] && scores[2] < scores[4]);
    EXPECT(scores[1] > 0);
  }
}

TEST(without_neighbor_counts_visits_decide) {
  const auto scores = expected_visits({0, 0, 0, 0}, {2, 2, 2, 3, 3, 0}, 3);
  EXPECT(scores[2] > scores[3] && scores[3] > scores[0] && scores[0] > scores[1]);
}

// What chance makes of `rates`, in `batches` batches.
RecycledVector<std::int64_t> drawn_visits(const std::vector<double>& rates, std::size_t batches) {
  Rng rng(8, {1});
  RecycledVector<std::int64_t> visits;
  for (std::size_t batch = 0; batch < batches; ++batch) {
    for (std::size_t node = 0; node < rates.size(); ++node)
      if (rng.uniform() < rates[node]) visits.push_back(static_cast<std::int64_t>(node));
  }
  return visits;
}

// How many of the 500 nodes with the highest rates are among the 500 hottest.
std::size_t found(const RecycledVector<std::uint32_t>& neighbor_counts,
                  const std::vector<double>& rates) {
  const std::size_t kBatches = 8, kCount = 500;
  const auto scores = expected_visits(neighbor_counts, drawn_visits(rates, kBatches), kBatches);
  const std::vector<float> truth(rates.begin(), rates.end());
  const auto right = hottest_by_sort(truth, kCount);
  const auto chosen = listed(hottest(scores, kCount));
  std::vector<std::uint64_t> both;
  std::set_intersection(right.begin(), right.end(), chosen.begin(), chosen.end(),
                        std::back_inserter(both));
  return both.size();
}

TEST(visits_that_chance_explains_do_not_outvote_the_graph) {
  RecycledVector<std::uint32_t> neighbor_counts;
  std::vector<double> rates;
  for (std::uint32_t node = 0; node < 5000; ++node) {
    neighbor_counts.push_back(1 + node % 100);
    rates.push_back(0.0005 * (1 + node % 100));
  }
  // The best that the visits alone could tell is much less: most nodes were seen once or never.
  EXPECT(found(neighbor_counts, rates) > 480);
}

TEST(visits_that_contradict_the_graph_win) {
  RecycledVector<std::uint32_t> neighbor_counts;
  std::vector<double> rates;
  for (std::uint32_t node = 0; node < 5000; ++node) {
    neighbor_counts.push_back(node < 2500 ? 20 : 10);
    rates.push_back(node % 10 == 9 ? 0.2 : 0.001);  // the graph knows nothing of this
  }
  EXPECT(found(neighbor_counts, rates) >
         350);  // a node of these is seen in eight batches with odds 0.83
}

}  // namespace
}  // namespace gz
