#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/convert/row_buckets.h"
#include "core/convert/row_placer.h"
#include "core/store/features.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

TEST(buckets_give_rows_back_in_the_order_they_came_whatever_fits_the_memory) {
  for (const std::uint64_t room : {0u, 100u, 1u << 20}) {
    RowBuckets buckets(".", 10, sizeof(std::int32_t), room);
    std::map<std::uint64_t, std::vector<std::pair<std::uint32_t, std::int32_t>>> expected;
    std::mt19937 random(1);
    for (std::int32_t i = 0; i < 1000; ++i) {
      const std::uint64_t place = random() % 4 == 0 ? std::uint64_t{1} << 33 : random() % 95;
      std::memcpy(buckets.add(place), &i, sizeof i);
      expected[place / 10].push_back({static_cast<std::uint32_t>(place % 10), i});
    }
    buckets.close();
    for (const auto& [bucket, rows] : expected) {
      std::vector<std::pair<std::uint32_t, std::int32_t>> found;
      buckets.read(bucket, [&](std::uint64_t count, const auto& row) {
        for (std::uint64_t i = 0; i < count; ++i) {
          std::int32_t item;
          std::memcpy(&item, row(i).bytes, sizeof item);
          found.push_back({row(i).place, item});
        }
      });
      EXPECT(found == rows);
    }
    buckets.read(11, [](std::uint64_t, const auto&) { EXPECT(false); });
  }
}

// A row is the eight bytes of id + 1000 + 1,000,000 × its line, and its scale is the same number.
struct Placed {
  std::vector<std::int64_t> rows;
  std::vector<RefusedRow> refused;
  std::uint64_t given = 0;
};

Placed place(const std::vector<std::int64_t>& ids, std::uint64_t num_rows, std::uint64_t memory) {
  RowPlacer placer("gz_tests.placed.gd", Dtype::kInt8, {8}, true, memory);
  Placed placed;
  const auto note = [&] {
    for (const RefusedRow& row : placer.take_refused().first) placed.refused.push_back(row);
  };
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::int64_t line = static_cast<std::int64_t>(i), item = ids[i] + 1000 + 1'000'000 * line;
    const float scale = static_cast<float>(item);
    placer.add({{&ids[i], 1}, {&line, 1}, std::as_bytes(std::span(&item, 1)), {&scale, 1}},
               num_rows);
    note();
  }
  placer.close(num_rows);
  while (placer.write_range()) note();
  note();
  placer.finish();
  placed.given = placer.num_given();
  const Features features("gz_tests.placed.gd");
  for (std::uint64_t row = 0; row < num_rows; ++row) {
    const auto bytes = features.read_row(static_cast<std::int64_t>(row));
    std::memcpy(&placed.rows.emplace_back(), bytes.data(), sizeof(std::int64_t));
    EXPECT(features.scales()[row] == static_cast<float>(placed.rows.back()));
  }
  return placed;
}

// 2 × 13 × 4 bytes: ranges of four rows of 13 bytes each.
constexpr std::uint64_t kFourRows = 104;

TEST(rows_are_placed_by_their_ids_whatever_fits_the_memory) {
  std::mt19937 random(2);
  for (const int shape : {0, 1, 2, 3}) {
    std::vector<std::int64_t> ids(40);
    for (std::size_t i = 0; i < ids.size(); ++i)
      ids[i] = shape == 3 ? static_cast<std::int64_t>(random() % 50) : static_cast<std::int64_t>(i);
    if (shape == 1) std::shuffle(ids.begin(), ids.end(), random);
    if (shape == 2) ids.erase(ids.begin() + 6), ids.push_back(6), ids.push_back(45);
    std::vector<std::int64_t> expected(50, 0);
    std::vector<std::size_t> second;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::int64_t& row = expected[static_cast<std::size_t>(ids[i])];
      if (row != 0) {
        second.push_back(i);
      } else {
        row = ids[i] + 1000 + 1'000'000 * static_cast<std::int64_t>(i);
      }
    }
    for (const std::uint64_t memory : {std::uint64_t{0}, kFourRows, std::uint64_t{1} << 20}) {
      const Placed placed = place(ids, 50, memory);
      EXPECT(placed.rows == expected);
      EXPECT(placed.given == ids.size() - second.size());
      std::vector<std::size_t> refused;
      for (const RefusedRow& row : placed.refused) {
        EXPECT(row.is_second && row.id == ids[static_cast<std::size_t>(row.line)]);
        refused.push_back(static_cast<std::size_t>(row.line));
      }
      std::sort(refused.begin(), refused.end());
      EXPECT(refused == second);
    }
  }
  std::remove("gz_tests.placed.gd");
}

TEST(ids_out_of_bounds_are_refused_and_not_written) {
  const Placed placed = place({3, -1, 4, 0, 1'000'000'000'000}, 4, kFourRows);
  EXPECT(placed.rows == (std::vector<std::int64_t>{3'001'000, 0, 0, 1003}));
  EXPECT(placed.refused.size() == 3 && placed.given == 2);
  for (const RefusedRow& row : placed.refused) EXPECT(!row.is_second && row.line != 0);
  std::remove("gz_tests.placed.gd");
}

TEST(rows_without_their_scales_are_refused) {
  RowPlacer placer("gz_tests.placed.gd", Dtype::kInt8, {8}, true, kFourRows);
  const std::vector<std::int64_t> ids = {0};
  EXPECT(test::message_of([&] {
           placer.add({ids, ids, std::as_bytes(std::span(ids)), {}}, 1);
         }).starts_with("rows: expected a line, a row and a scale"));
}

TEST(a_placer_that_is_not_finished_leaves_no_file) {
  {
    RowPlacer placer("gz_tests.placed.gd", Dtype::kInt64, {1}, false, kFourRows);
    const std::vector<std::int64_t> ids = {9, 0}, lines = {1, 2};
    placer.add({ids, lines, std::as_bytes(std::span(ids)), {}}, 10);
  }
  EXPECT(std::remove("gz_tests.placed.gd") != 0);
}

}  // namespace
}  // namespace gz
