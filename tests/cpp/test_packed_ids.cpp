#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/pipeline/packed_ids.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

std::vector<std::int64_t> through(const std::vector<std::int64_t>& ids, std::size_t bytes) {
  const PackedIds packed{std::span<const std::int64_t>(ids)};
  EXPECT(packed.size() == ids.size());
  EXPECT(packed.bytes() == bytes);
  const Buffer<std::int64_t> unpacked = packed.unpack();
  return {unpacked.begin(), unpacked.end()};
}

TEST(ids_take_four_bytes_while_all_of_them_fit) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const std::vector<std::int64_t> none, narrow = {0, 7, kMost}, wide = {0, kMost + 1, 7},
                                        negative = {3, -1};
  EXPECT(through(none, 0) == none);
  EXPECT(through(narrow, 12) == narrow);
  EXPECT(through(wide, 24) == wide);
  EXPECT(through(negative, 16) == negative);
  EXPECT(PackedIds().size() == 0 && PackedIds().unpack().empty());
}

TEST(a_part_of_the_ids_can_be_unpacked) {
  for (const std::int64_t step : {std::int64_t{1}, std::int64_t{1} << 40}) {
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < 100; ++i) ids.push_back(i * step);
    const PackedIds packed{std::span<const std::int64_t>(ids)};
    std::array<std::int64_t, 10> part;
    for (std::size_t begin = 0; begin <= 90; ++begin) {
      packed.unpack(begin, part);
      EXPECT(
          std::equal(part.begin(), part.end(), ids.begin() + static_cast<std::ptrdiff_t>(begin)));
    }
  }
}

}  // namespace
}  // namespace gz
