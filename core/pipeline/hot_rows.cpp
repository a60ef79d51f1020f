#include "core/pipeline/hot_rows.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace gz {
namespace {

// Below this share of batches a node is rare enough for its visits to add up like rare events.
constexpr double kRare = 0.25;

}  // namespace

RecycledVector<float> expected_visits(RecycledVector<std::uint32_t> neighbor_counts,
                                      RecycledVector<std::int64_t> visits,
                                      std::size_t num_batches) {
  std::sort(visits.begin(), visits.end());
  const auto batches = static_cast<double>(num_batches);
  double total = 0;
  for (const std::uint32_t count : neighbor_counts) total += count;
  const double rate =
      total > 0 && !visits.empty() ? static_cast<double>(visits.size()) / (batches * total) : 1;

  // Calls body(node, expected visits per batch, visits seen), with some of each for every node.
  const auto for_each = [&](auto&& body) {
    std::size_t at = 0;
    for (std::size_t node = 0; node < neighbor_counts.size(); ++node) {
      std::size_t seen = 0;
      for (; at < visits.size() && visits[at] == static_cast<std::int64_t>(node); ++at) ++seen;
      body(node, rate * std::max(static_cast<double>(neighbor_counts[node]), 0.01),
           static_cast<double>(seen));
    }
  };
  double squares = 0, excess = 0;
  for_each([&](std::size_t, double expected, double seen) {
    if (expected > kRare) return;
    const double mean = batches * expected;
    squares += mean * mean;
    excess += (seen - mean) * (seen - mean) - mean;
  });
  // Without excess the shape is infinite, and what was seen is no news.
  const double shape = excess > 0 ? std::max(squares / excess, 0.1) : 1e6;

  RecycledVector<float> scores(neighbor_counts.size());
  for_each([&](std::size_t node, double expected, double seen) {
    scores[node] = static_cast<float>((shape + seen) / (shape / expected + batches));
  });
  return scores;
}

ChosenRows hottest(std::span<const float> scores, std::uint64_t count) {
  ChosenRows chosen(scores.size());
  if (count >= scores.size()) {
    for (std::size_t row = 0; row < scores.size(); ++row) chosen.choose(row);
    return chosen;
  }
  // Positive floats are in the order of their bits: two passes find the score to cut at.
  constexpr std::uint32_t kHalf = 1 << 16;
  const auto bits = [](float score) { return std::bit_cast<std::uint32_t>(score); };
  std::vector<std::uint64_t> above(kHalf);
  for (const float score : scores) ++above[bits(score) >> 16];
  std::uint64_t left = count;
  std::uint32_t high = kHalf - 1;
  while (above[high] <= left && high > 0) left -= above[high--];
  std::fill(above.begin(), above.end(), 0);
  for (const float score : scores) {
    if (bits(score) >> 16 == high) ++above[bits(score) & (kHalf - 1)];
  }
  std::uint32_t low = kHalf - 1;
  while (above[low] <= left && low > 0) left -= above[low--];
  const std::uint32_t cut = high << 16 | low;
  for (std::size_t row = 0; row < scores.size(); ++row) {
    if (bits(scores[row]) > cut) chosen.choose(row);
    if (bits(scores[row]) == cut && left > 0) {
      chosen.choose(row);
      --left;
    }
  }
  return chosen;
}

}  // namespace gz
