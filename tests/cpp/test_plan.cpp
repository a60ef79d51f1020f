#include <cmath>
#include <cstdint>
#include <vector>

#include "core/pipeline/plan.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

constexpr std::uint64_t kTera = 1'000'000'000'000;

std::vector<std::uint64_t> shares(std::uint64_t room, const std::vector<std::uint64_t>& sizes) {
  std::vector<std::uint64_t> found(sizes.size());
  divide_room(room, sizes, [&](std::size_t i, std::uint64_t share) { return found[i] = share; });
  return found;
}

TEST(the_next_batch_may_be_larger_than_all_that_were_measured) {
  const std::vector<BatchBytes> batches = {{1000, 50}, {200, 4000}};
  EXPECT(largest(batches).sample == 1100);
  EXPECT(largest(batches).rows == 4400);
  EXPECT(largest({}).rows == 0);
}

TEST(room_for_all_is_given_to_all) {
  EXPECT((shares(600, {100, 200, 300}) == std::vector<std::uint64_t>{100, 200, 300}));
}

TEST(small_items_are_whole_and_the_others_share_in_proportion) {
  EXPECT((shares(400, {3000, 50, 1000}) == std::vector<std::uint64_t>{263, 50, 87}));
}

TEST(shares_of_terabytes_are_exact) {
  EXPECT((shares(5 * kTera, {4 * kTera, 6 * kTera}) ==
          std::vector<std::uint64_t>{2 * kTera, 3 * kTera}));
}

TEST(what_an_item_leaves_is_for_those_that_follow) {
  std::vector<std::uint64_t> given;
  const std::vector<std::uint64_t> sizes = {1000, 1000};
  divide_room(1000, sizes, [&](std::size_t, std::uint64_t share) {
    given.push_back(share);
    return std::uint64_t{0};
  });
  EXPECT((given == std::vector<std::uint64_t>{500, 1000}));
}

TEST(batches_that_miss_different_rows_miss_twice_as_many_together) {
  const Growth growth = growth_of_misses({1, 2, 3, 4}, 2, 2);
  EXPECT(growth.power == 1);
  EXPECT(growth.of(10) == 20);
  EXPECT(growth.fresh_share(10) == 1);
}

TEST(batches_that_share_misses_miss_fewer_rows_together) {
  const Growth growth = growth_of_misses({1, 2, 3, 1, 2, 4, 1, 3, 5, 2, 3, 6}, 4, 3);
  EXPECT(growth.power == 0.5);  // 6 different rows in 4 batches of 3
  EXPECT(growth.of(4) == 6);
  EXPECT(growth.fresh_share(4) == 0.25);
}

TEST(few_batches_say_little_about_many) {
  EXPECT(growth_of_misses({7, 7, 7, 7}, 4, 1).power == 0.5);
  EXPECT(growth_of_misses({7, 8}, 1, 2).power == 1);
  EXPECT(growth_of_misses({}, 4, 0).of(100) == 0);
}

TEST(as_many_batches_are_ahead_as_the_window_holds) {
  const std::vector<MissedRows> missed = {{{100, 1}, 920, 1'000'000}};
  // A batch: half its sample, 8 bytes for each miss, a slot and 80 bytes beside it for each row.
  const std::uint64_t of_batch = 1000 + 8 * 100 + 100 * 1000;
  EXPECT(plan_read_ahead(10 * of_batch, 2000, 50, missed).most_batches == 10);
  EXPECT(plan_read_ahead(10 * of_batch - 1, 2000, 50, missed).most_batches == 9);
  EXPECT(plan_read_ahead(10 * of_batch, 2000, 5, missed).most_batches == 5);
  EXPECT(plan_read_ahead(0, 2000, 50, missed).most_batches == 1);
}

TEST(slots_are_for_the_rows_of_all_batches_ahead) {
  const std::vector<MissedRows> missed = {{{100, 1}, 920, 1'000'000}, {}};
  const ReadAhead plan = plan_read_ahead(kTera, 2000, 10, missed);
  EXPECT(plan.sample_bytes == 1000);
  EXPECT(plan.rows[0].slots == 1164);  // a tenth more, and 64
  EXPECT(plan.rows[0].misses_per_batch == 100);
  EXPECT(plan.rows[1].slots == 0);
  EXPECT(plan.rows[1].fresh_share == 1);
}

TEST(slots_are_never_more_than_rows_nor_than_the_window_holds) {
  const std::vector<MissedRows> few = {{{100, 1}, 920, 150}};
  EXPECT(plan_read_ahead(kTera, 2000, 10, few).rows[0].slots == 150);
  const std::vector<MissedRows> many = {{{100, 1}, 920, 1'000'000}};
  EXPECT(plan_read_ahead(1000 + 800 + 50'000, 2000, 10, many).rows[0].slots == 114);
  EXPECT(plan_read_ahead(0, 2000, 10, many).rows[0].slots == 64);
}

}  // namespace
}  // namespace gz
