#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "core/convert/reorder_features.h"
#include "core/format/gd_writer.h"
#include "core/store/features.h"
#include "tests/cpp/check.h"
#include "tests/cpp/platform.h"

namespace gz {
namespace {

constexpr std::uint64_t kRowItems = 256;

// Item j of row i is i + j.
std::int32_t first_item(std::int64_t row) { return static_cast<std::int32_t>(row); }

void write_rows(const std::string& path, std::int64_t num_rows) {
  GdWriter writer(path, Dtype::kInt32, {static_cast<std::uint64_t>(num_rows), kRowItems});
  std::vector<std::int32_t> row(kRowItems);
  for (std::int64_t i = 0; i < num_rows; ++i) {
    std::iota(row.begin(), row.end(), first_item(i));
    writer.append(std::as_bytes(std::span(row)));
  }
  writer.finish();
}

std::vector<std::int64_t> reversed(std::int64_t num_rows) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(num_rows));
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

bool has_row(const Features& features, std::int64_t id) {
  const std::vector<std::uint8_t> bytes = features.read_row(id);
  const auto* const items = reinterpret_cast<const std::int32_t*>(bytes.data());
  return items[0] == first_item(id) &&
         items[kRowItems - 1] == first_item(id) + static_cast<std::int32_t>(kRowItems) - 1;
}

// Places of 8 bytes, which files of fewer than 2^31 rows do not need: with all rows in memory, and
// with 40 MB in buckets of 24.
TEST(wide_places_order_rows_as_narrow_ones_do) {
  for (const std::int64_t num_rows : {100, 40000}) {
    write_rows("gz_tests.plain.gd", num_rows);
    const std::vector<std::int64_t> order = reversed(num_rows);
    for (const IdWidth width : {IdWidth::k4, IdWidth::k8}) {
      FeatureReorderer reorderer("gz_tests.plain.gd");
      const auto places = RowPlaces::in_order(order, reorderer.num_rows(), width);
      EXPECT(places.order() == order);
      reorderer.write("gz_tests.hot.gd", places, {32 << 20, "."});
      EXPECT(reorderer.done() == reorderer.total(32 << 20));
      // Once more, from a file that has an order; Windows may not let it replace itself.
      const char* const again = test::kIsWindows ? "gz_tests.again.gd" : "gz_tests.hot.gd";
      FeatureReorderer("gz_tests.hot.gd").write(again, places, {32 << 20, "."});

      const Features features(again);
      EXPECT(features.is_reordered());
      EXPECT(features.layout().row_map->width == width);
      EXPECT(features.stored_row(0) == num_rows - 1);
      std::vector<std::int64_t> rows(order.size());
      features.translate(order, rows);
      EXPECT(std::is_sorted(rows.begin(), rows.end()) && rows.front() == 0);
      for (std::int64_t id = 0; id < num_rows; id += 97) EXPECT(has_row(features, id));
    }
  }
  std::remove("gz_tests.plain.gd");
  std::remove("gz_tests.hot.gd");
  std::remove("gz_tests.again.gd");
}

TEST(a_file_in_order_of_ids_translates_to_the_ids) {
  write_rows("gz_tests.plain.gd", 10);
  const Features features("gz_tests.plain.gd");
  const std::vector<std::int64_t> ids = {3, 0, 9, 3};
  std::vector<std::int64_t> rows(ids.size());
  features.translate(ids, rows);
  EXPECT(rows == ids);
  EXPECT(!features.is_reordered() && features.stored_row(7) == 7);
  EXPECT(test::message_of([&] { features.stored_row(10); }) ==
         "row 10 is not in gz_tests.plain.gd, which has 10 rows (0 to 9)");
  std::remove("gz_tests.plain.gd");
}

TEST(an_order_of_other_rows_is_refused) {
  write_rows("gz_tests.plain.gd", 10);
  const auto places = RowPlaces::in_order(reversed(9), 9, IdWidth::k4);
  EXPECT(test::message_of([&] {
           FeatureReorderer("gz_tests.plain.gd").write("gz_tests.hot.gd", places, {0, "."});
         }) == "gz_tests.plain.gd: expected an order of its 10 rows, found one of 9");
  std::remove("gz_tests.plain.gd");
}

}  // namespace
}  // namespace gz
