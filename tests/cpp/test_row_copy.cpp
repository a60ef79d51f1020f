#include <cstring>
#include <string>
#include <vector>

#include "core/gather/row_copy.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

TEST(rows_without_a_wanted_type_are_copied_byte_by_byte) {
  for (const std::size_t size :
       {0u, 1u, 2u, 3u, 4u, 8u, 16u, 31u, 32u, 64u, 128u, 200u, 256u, 512u, 5000u}) {
    const RowCopy copy(Dtype::kUint8, false, size, {});
    EXPECT(!copy.converts());
    EXPECT(copy.stored_bytes() == size && copy.out_bytes() == size);
    std::vector<std::byte> source(size * 50 + 1);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 >> 2);
    std::vector<const std::byte*> rows;
    for (std::size_t i = 0; i < 70; ++i) rows.push_back(source.data() + 1 + i * 13 % 50 * size);
    std::vector<std::byte> out(rows.size() * size + 1, std::byte{0xa5});
    copy.copy(rows, {}, out.data());
    for (std::size_t i = 0; i < rows.size(); ++i)
      EXPECT(std::memcmp(out.data() + i * size, rows[i], size) == 0);
    EXPECT(out.back() == std::byte{0xa5});
  }
}

TEST(quantised_rows_count_in_steps_of_their_own_scale) {
  const RowCopy copy(Dtype::kInt8, true, 3, Dtype::kFloat32);
  EXPECT(copy.needs_scales());
  EXPECT(copy.stored_bytes() == 3 && copy.out_bytes() == 12);
  const signed char items[] = {1, -2, 3, 4, 5, -6};
  const auto* const data = reinterpret_cast<const std::byte*>(items);
  const std::vector<const std::byte*> rows = {data + 3, data, data + 3};
  const std::vector<float> scales = {0.5f, 2.0f, 10.0f};
  std::vector<float> out(9);
  copy.copy(rows, scales, reinterpret_cast<std::byte*>(out.data()));
  EXPECT((out == std::vector<float>{2, 2.5f, -3, 2, -4, 6, 40, 50, -60}));
}

TEST(quantised_rows_may_stay_as_they_are) {
  for (const std::optional<Dtype> wanted : {std::optional<Dtype>(), std::optional(Dtype::kInt8)}) {
    const RowCopy copy(Dtype::kInt8, true, 3, wanted);
    EXPECT(!copy.converts() && !copy.needs_scales() && copy.out_bytes() == 3);
  }
}

TEST(quantised_rows_may_bring_their_scales) {
  const RowCopy copy = RowCopy::with_scales(3);
  EXPECT(!copy.converts() && copy.needs_scales());
  EXPECT(copy.stored_bytes() == 3 && copy.out_bytes() == 7);
  const signed char items[] = {1, -2, 3, 4, 5, -6};
  const auto* const data = reinterpret_cast<const std::byte*>(items);
  const std::vector<float> scales = {0.5f, 2.0f};
  std::vector<std::byte> out(14);
  copy.copy(data, std::vector<std::int64_t>{1, 0}, scales, out.data());
  EXPECT(std::memcmp(out.data(), items + 3, 3) == 0 && std::memcmp(&out[7], items, 3) == 0);
  EXPECT(std::memcmp(&out[3], &scales[0], 4) == 0 && std::memcmp(&out[10], &scales[1], 4) == 0);
}

TEST(a_type_that_is_not_offered_is_named_with_those_that_are) {
  EXPECT(test::message_of([] { RowCopy(Dtype::kFloat32, false, 1, Dtype::kInt64); }) ==
         "dtype: expected float32, float16 or bfloat16, which float32 rows can be gathered as, "
         "found int64");
  EXPECT(test::message_of([] { RowCopy(Dtype::kInt8, true, 1, Dtype::kFloat16); }) ==
         "dtype: expected int8 or float32, which quantised int8 rows can be gathered as, found "
         "float16");
  EXPECT(test::message_of([] { RowCopy(Dtype::kInt64, false, 1, Dtype::kInt32); }) ==
         "dtype: expected int64, which int64 rows can be gathered as, found int32");
}

}  // namespace
}  // namespace gz
