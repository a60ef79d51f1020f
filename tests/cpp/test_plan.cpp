#include <cstdint>
#include <utility>
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
  const std::vector<BatchBytes> few = {{1000, 50}, {200, 4000}};
  EXPECT(largest(few).sample == 1100);
  EXPECT(largest(few).rows == 4400);
  EXPECT(largest({}).rows == 0);
}

TEST(batches_that_hardly_differ_are_expected_to_stay_so) {
  std::vector<BatchBytes> batches(8, {10'000, 50'000});
  EXPECT(largest(batches).sample == 10'100 && largest(batches).rows == 50'500);
  batches[3] = {10'300, 49'000};
  EXPECT(largest(batches).sample == 10'300 + 300 + 103);
  EXPECT(largest(batches).rows == 50'000 + 1000 + 500);
  batches[4].rows = 10;
  EXPECT(largest(batches).rows == 55'000);
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

AheadNeeds needs_of(std::uint64_t window, std::uint64_t sample_bytes, std::size_t most_batches,
                    std::vector<MissedRows> missed, bool draws_again = false) {
  AheadNeeds needs;
  needs.window = window;
  needs.sample_bytes = sample_bytes;
  needs.most_batches = most_batches;
  needs.missed = std::move(missed);
  needs.draws_again = draws_again;
  return needs;
}

const std::vector<MissedRows> kMissed = {{10'000, 512, 100}, {}};
// 80 kB for each of 64 chunks would be too much; 64 kB hold 128 rows, and one chunk is not full.
constexpr std::uint64_t kChunk = 64 << 10;
constexpr std::uint64_t kRows = (10'000 / 128 + 1) * kChunk;

TEST(as_many_batches_are_ahead_as_the_window_holds) {
  // Half of the sample and of the rows; for each miss where it is in the batch, and in the request
  // and on its way; the sections. A fiftieth is spare, and a batch's rows.
  const std::uint64_t of_batch = 1000 + kRows / 2 + 4 * 10'000 + (4 + 1) * 10'000 + 9 * 100;
  const std::uint64_t window = (10 * of_batch + kRows) / 49 * 50 + 50;
  const auto batches = [&](std::uint64_t bytes, std::size_t most) {
    return plan_read_ahead(needs_of(bytes, 2000, most, kMissed)).most_batches;
  };
  EXPECT(batches(window, 50) == 10);
  EXPECT(batches(window - 200, 50) == 9);
  EXPECT(batches(window, 5) == 5);
  EXPECT(batches(0, 50) == 1);
}

TEST(more_batches_fit_if_samples_are_drawn_again) {
  const ReadAhead kept = plan_read_ahead(needs_of(200'000'000, 8'000'000, 500, kMissed));
  const ReadAhead drawn = plan_read_ahead(needs_of(200'000'000, 8'000'000, 500, kMissed, true));
  EXPECT(!kept.draws_again && drawn.draws_again && drawn.num_near == 4);
  EXPECT(drawn.most_batches > 2 * kept.most_batches);
  EXPECT(drawn.request_bytes == (4 + 1) * 10'000 + 9 * 100);
  EXPECT(drawn.sample_bytes == 4'000'000 + 4 * 10'000 + drawn.request_bytes);
}

TEST(one_in_so_many_batches_may_be_early) {
  EXPECT(plan_read_ahead(needs_of(kTera, 2000, 50, kMissed)).num_early == 1);
  EXPECT(plan_read_ahead(needs_of(kTera, 2000, 640, kMissed)).num_early == 11);
}

TEST(what_samples_leave_of_the_window_is_for_rows) {
  const ReadAhead plan = plan_read_ahead(needs_of(100'000'000, 2000, 50, kMissed));
  EXPECT(plan.most_batches > 20 && plan.most_batches < 50);
  EXPECT(plan.chunk_bytes == kChunk);
  const std::uint64_t used = plan.most_batches * plan.sample_bytes + plan.chunks * plan.chunk_bytes;
  EXPECT(used <= 100'000'000 && used > 99'000'000);
  // An eighth of what there is memory for.
  EXPECT(plan.worth_taking > 20'000 && plan.worth_taking < 25'000);
}

TEST(memory_for_rows_is_no_more_than_all_of_them_take) {
  const ReadAhead plan = plan_read_ahead(needs_of(kTera, 2000, 10, {{100, 1000, 1}}));
  EXPECT(plan.chunk_bytes == 1000);
  EXPECT(plan.chunks * plan.chunk_bytes < 4 * 13 * 100 * 1000);
  EXPECT(plan_read_ahead(needs_of(kTera, 2000, 10, {})).chunks == 0);
  EXPECT(plan_read_ahead(needs_of(kTera, 2000, 10, {{3, 1'000'000, 1}})).chunk_bytes == 1'000'000);
}

TEST(chunks_are_cut_for_the_attribute_with_the_most_bytes) {
  const auto chunk = [](std::vector<MissedRows> missed) {
    return plan_read_ahead(needs_of(kTera, 2000, 10, std::move(missed))).chunk_bytes;
  };
  EXPECT(chunk({{5000, 2800, 10}}) == 16 * 2800);
  EXPECT(chunk({{5000, 8, 10}, {5000, 2800, 10}}) == 16 * 2800);
  EXPECT(chunk({{5000, 100, 10}, {1, 70'000, 10}}) == 70'000);
  // Many attributes have small ones, so that each fills several.
  EXPECT(chunk(std::vector<MissedRows>(300, {3000, 16, 1})) == 4096);
}

TEST(what_chunks_leave_over_counts) {
  const auto batches = [](std::uint64_t row_bytes) {
    return plan_read_ahead(needs_of(100'000'000, 0, 500, {{5000, 512, 10}, {5000, row_bytes, 10}}))
        .most_batches;
  };
  // A chunk of 32 kB holds 128 rows of 250 bytes and 64 rows of 260.
  EXPECT(batches(250) > batches(260) + 5);
}

}  // namespace
}  // namespace gz
