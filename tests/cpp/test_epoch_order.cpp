#include <cmath>
#include <cstdint>
#include <vector>

#include "core/pipeline/epoch_order.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

TEST(an_epoch_has_every_item_once) {
  for (const std::uint64_t count :
       {1u, 2u, 3u, 4u, 5u, 4095u, 4096u, 4097u, 16384u, 16385u, 1'000'007u}) {
    for (const std::uint64_t seed : {0u, 1u}) {
      const EpochOrder order(count, true, seed, 3);
      std::vector<bool> seen(count);
      bool once = true;
      for (std::uint64_t place = 0; place < count; ++place) {
        const std::uint64_t item = order[place];
        once = once && item < count && !seen[item];
        if (item < count) seen[item] = true;
      }
      EXPECT(once);
    }
  }
}

TEST(without_shuffle_items_stay_where_they_are) {
  for (const std::uint64_t count : {0u, 1u, 100u, 100'000u}) {
    const EpochOrder order(count, false, 1, 1);
    for (std::uint64_t place = 0; place < count; place += 7) EXPECT(order[place] == place);
  }
}

TEST(an_epoch_of_more_than_32_bits_may_begin_anywhere) {
  const std::uint64_t count = (std::uint64_t{1} << 40) + 12345;
  const EpochOrder order(count, true, 1, 1);
  bool below = true, wide = false;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t item = order[i * (count / 1000)];
    below = below && item < count;
    wide = wide || item > std::uint64_t{1} << 39;
  }
  EXPECT(below && wide);
}

double chi_square(const std::vector<int>& counts, double expected) {
  double sum = 0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

// By epoch and by seed: either alone must suffice. 5000 items take the other way of shuffling.
TEST(each_item_comes_first_equally_often) {
  constexpr int kOrders = 20'000, kBuckets = 50;
  for (const std::uint64_t count : {50u, 5000u}) {
    for (const std::uint64_t place : {std::uint64_t{0}, count - 1}) {
      std::vector<int> by_epoch(kBuckets), by_seed(kBuckets);
      for (std::uint64_t i = 0; i < kOrders; ++i) {
        ++by_epoch[EpochOrder(count, true, 1, i)[place] * kBuckets / count];
        ++by_seed[EpochOrder(count, true, i, 1)[place] * kBuckets / count];
      }
      const double freedom = kBuckets - 1;
      const double limit = freedom + 5 * std::sqrt(2 * freedom);
      EXPECT(chi_square(by_epoch, kOrders / kBuckets) < limit);
      EXPECT(chi_square(by_seed, kOrders / kBuckets) < limit);
    }
  }
}

// Of a random permutation one item on average stays in place, and one follows its neighbour.
TEST(neighbours_do_not_stay_together) {
  constexpr std::uint64_t kCount = 100'000;
  int fixed = 0, followers = 0, same_as_other_epoch = 0, same_as_other_seed = 0;
  const EpochOrder order(kCount, true, 1, 1), other_epoch(kCount, true, 1, 2),
      other_seed(kCount, true, 2, 1);
  for (std::uint64_t place = 0; place + 1 < kCount; ++place) {
    fixed += order[place] == place;
    followers += order[place] + 1 == order[place + 1];
    same_as_other_epoch += order[place] == other_epoch[place];
    same_as_other_seed += order[place] == other_seed[place];
  }
  EXPECT(fixed < 10 && followers < 10);
  EXPECT(same_as_other_epoch < 10 && same_as_other_seed < 10);
}

}  // namespace
}  // namespace gz
