#include <numeric>
#include <string>
#include <vector>

#include "core/gather/row_shares.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

std::vector<std::int64_t> list(const Buffer<std::int64_t>& items) {
  return {items.begin(), items.end()};
}

TEST(ids_are_split_by_where_their_rows_are) {
  const RowShares shares({0, 4, 4, 10}, std::vector<NodeId>{1, 5});
  const RowSplit split = shares.split(std::vector<NodeId>{9, 5, 0, 1, 4, 3, 9});
  EXPECT((split.counts == std::vector<std::int64_t>{2, 2, 0, 3}));
  EXPECT((list(split.rows) == std::vector<std::int64_t>{1, 0, 0, 3, 5, 0, 5}));
  EXPECT((list(split.places) == std::vector<std::int64_t>{4, 0, 2, 1, 5, 3, 6}));
}

TEST(many_hosts_are_found_as_few_are) {
  std::vector<NodeId> bounds(41);
  for (std::size_t i = 0; i < bounds.size(); ++i) bounds[i] = static_cast<NodeId>(i / 2 * 7);
  const RowShares shares(bounds, {});
  std::vector<NodeId> ids(static_cast<std::size_t>(bounds.back()));
  std::iota(ids.begin(), ids.end(), 0);
  const RowSplit split = shares.split(ids);
  for (std::size_t host = 0; host < 40; ++host)
    EXPECT(split.counts[1 + host] == bounds[host + 1] - bounds[host]);
  EXPECT(list(split.places) == ids);
}

TEST(shares_that_make_no_sense_are_refused) {
  const auto problem = [](std::vector<NodeId> bounds, std::vector<NodeId> hot) {
    return test::message_of([&] { RowShares(bounds, hot); });
  };
  for (const std::vector<NodeId>& bounds : {std::vector<NodeId>{}, {1, 4}, {0, 4, 3}})
    EXPECT(problem(bounds, {}) == "bounds: expected 0, then numbers that do not fall");
  EXPECT(problem({0, 4}, {2, 2}) == "hot[1]: expected a row from 3 to below 4, found 2");
  EXPECT(problem({0, 4}, {4}) == "hot[0]: expected a row from 0 to below 4, found 4");
  const RowShares shares({0, 4}, {});
  EXPECT(test::message_of([&] { shares.split(std::vector<NodeId>{1, -1}); }) ==
         "ids[1]: expected a row below 4, found -1");
}

TEST(rows_are_placed_and_converted) {
  const RowCopy copy(Dtype::kInt8, true, 2, Dtype::kFloat32);
  const signed char items[] = {1, -2, 3, 4};
  const auto rows = std::as_bytes(std::span(items));
  const std::vector<float> scales = {0.5f, 2};
  const std::vector<std::int64_t> places = {1, 0, 1};
  std::vector<float> out(6);
  const auto bytes = std::as_writable_bytes(std::span(out));
  place_rows(copy, rows, scales, places, bytes);
  EXPECT((out == std::vector<float>{6, 8, 0.5f, -1, 6, 8}));
  const auto problem = [&](std::vector<std::int64_t> wanted, std::span<const float> given,
                           std::span<std::byte> into) {
    return test::message_of([&] { place_rows(copy, rows, given, wanted, into); });
  };
  EXPECT(problem({0, 2, 0}, scales, bytes) == "places[1]: expected one of 2 rows, found 2");
  EXPECT(problem(places, {}, bytes) == "scales: expected 2, one for each row, found 0");
  EXPECT(problem(places, scales, bytes.first(8)) ==
         "out: expected 3 rows of 8 bytes, found 8 bytes");
}

}  // namespace
}  // namespace gz
