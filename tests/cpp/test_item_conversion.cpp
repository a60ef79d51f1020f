#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/gather/item_conversion.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

constexpr ItemTypes kConverted[] = {
    {Dtype::kFloat16, false, Dtype::kFloat32},  {Dtype::kBfloat16, false, Dtype::kFloat32},
    {Dtype::kInt8, true, Dtype::kFloat32},      {Dtype::kInt8, false, Dtype::kFloat32},
    {Dtype::kUint8, false, Dtype::kFloat32},    {Dtype::kBool, false, Dtype::kFloat32},
    {Dtype::kFloat64, false, Dtype::kFloat32},  {Dtype::kFloat32, false, Dtype::kFloat16},
    {Dtype::kFloat32, false, Dtype::kBfloat16}, {Dtype::kInt32, false, Dtype::kInt64},
    {Dtype::kInt16, false, Dtype::kInt64}};

// Those that this processor has, the portable one first.
std::vector<ConvertItems> paths(const ItemTypes& types) {
  std::vector<ConvertItems> found = {portable_conversion(types)};
  if (const auto conversion = processor_conversion(types)) found.push_back(conversion);
  return found;
}

template <class Out, class Item>
std::vector<Out> converted(ConvertItems conversion, const std::vector<Item>& items,
                           float scale = 0.0f) {
  std::vector<Out> out(items.size());
  conversion(reinterpret_cast<const std::byte*>(items.data()), items.size(), scale,
             reinterpret_cast<std::byte*>(out.data()));
  return out;
}

std::vector<std::uint16_t> all_halves() {
  std::vector<std::uint16_t> halves(1 << 16);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  return halves;
}

// By the definition of the format, without bit tricks.
double value_of_float16(std::uint16_t half) {
  const int exponent = half >> 10 & 31, mantissa = half & 0x3ff;
  double value =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  if (exponent == 31) value = mantissa == 0 ? HUGE_VAL : std::nan("");
  return half & 0x8000 ? -value : value;
}

TEST(every_float16_becomes_the_float32_of_its_value) {
  const auto halves = all_halves();
  for (const ConvertItems path : paths({Dtype::kFloat16, false, Dtype::kFloat32})) {
    const auto bits = converted<std::uint32_t>(path, halves);
    int wrong = 0;
    for (const std::uint16_t half : halves) {
      const double value = value_of_float16(half);
      const std::uint32_t found = bits[half];
      if (std::isnan(value)) {  // quiet, with the sign and what there was of a payload
        const std::uint32_t payload = (half & 0x3ffu) << 13 | 0x400000u;
        wrong += found != ((half & 0x8000u) << 16 | 0x7f800000u | payload);
      } else {
        wrong += found != std::bit_cast<std::uint32_t>(static_cast<float>(value));
      }
    }
    EXPECT(wrong == 0);
  }
}

TEST(every_bfloat16_is_the_upper_half_of_a_float32) {
  const auto halves = all_halves();
  for (const ConvertItems path : paths({Dtype::kBfloat16, false, Dtype::kFloat32})) {
    const auto bits = converted<std::uint32_t>(path, halves);
    int wrong = 0;
    for (const std::uint16_t half : halves) wrong += bits[half] != std::uint32_t{half} << 16;
    EXPECT(wrong == 0);
  }
}

TEST(every_int8_is_multiplied_by_its_scale) {
  std::vector<std::int8_t> items(256);
  for (int i = 0; i < 256; ++i)
    items[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i - 128);
  for (const float scale : {1.0f, 0.1f, 3e-40f, 1e37f, -2.5f, 0.0f}) {
    for (const ConvertItems path : paths({Dtype::kInt8, true, Dtype::kFloat32})) {
      const auto bits = converted<std::uint32_t>(path, items, scale);
      int wrong = 0;
      for (std::size_t i = 0; i < items.size(); ++i)
        wrong += bits[i] != std::bit_cast<std::uint32_t>(static_cast<float>(items[i]) * scale);
      EXPECT(wrong == 0);
    }
  }
}

// The halves on both sides of a float, found by search: the nearest must be the one that comes out.
TEST(float32_become_the_nearest_float16_and_ties_the_even_one) {
  std::vector<std::uint32_t> floats;
  std::vector<std::uint16_t> expected;
  const auto add = [&](double value, std::uint16_t half) {
    for (const std::uint32_t sign : {0u, 1u}) {
      floats.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(value)) | sign << 31);
      expected.push_back(static_cast<std::uint16_t>(half | sign << 15));
    }
  };
  for (std::uint16_t half = 0; half < 0x7c00; ++half) {
    const auto next = static_cast<std::uint16_t>(half + 1);
    const double value = value_of_float16(half);
    // Infinity stands where 2^16 would.
    const double following = next == 0x7c00 ? 65536.0 : value_of_float16(next);
    const auto middle = static_cast<float>((value + following) / 2);  // exact
    add(value, half);
    add(middle, half % 2 == 0 ? half : next);
    add(std::nextafter(middle, 0.0f), half);
    add(std::nextafter(middle, HUGE_VALF), next);
  }
  add(1e-45, 0);
  add(65536.0, 0x7c00);
  add(3e38, 0x7c00);
  add(HUGE_VAL, 0x7c00);
  for (const ConvertItems path : paths({Dtype::kFloat32, false, Dtype::kFloat16}))
    EXPECT(converted<std::uint16_t>(path, floats) == expected);
}

TEST(float32_become_the_nearest_bfloat16_and_ties_the_even_one) {
  std::vector<std::uint32_t> floats;
  std::vector<std::uint16_t> expected;
  for (std::uint32_t upper = 0; upper < 1 << 16; ++upper) {
    if ((upper & 0x7fff) >= 0x7f80) continue;
    const std::uint32_t bits = upper << 16;
    const std::uint32_t tie = upper % 2 == 0 ? upper : upper + 1;
    floats.insert(floats.end(), {bits, bits | 0x7fff, bits | 0x8000, bits | 0x8001});
    for (const std::uint32_t half : {upper, upper, tie, upper + 1})
      expected.push_back(static_cast<std::uint16_t>(half));
  }
  for (const std::uint32_t nan : {0x7f800001u, 0x7fffffffu, 0xffc00000u, 0xff800001u}) {
    floats.push_back(nan);
    expected.push_back(0x7fc0);
  }
  for (const ConvertItems path : paths({Dtype::kFloat32, false, Dtype::kBfloat16}))
    EXPECT(converted<std::uint16_t>(path, floats) == expected);
}

TEST(a_nan_becomes_a_quiet_float16_nan) {
  const std::vector<std::uint32_t> nans = {0x7f800001, 0x7fc00000, 0xff802000, 0xffffffff};
  const std::vector<std::uint16_t> expected = {0x7e00, 0x7e00, 0xfe01, 0xffff};
  for (const ConvertItems path : paths({Dtype::kFloat32, false, Dtype::kFloat16}))
    EXPECT(converted<std::uint16_t>(path, nans) == expected);
}

TEST(any_byte_but_zero_is_true) {
  for (const ConvertItems path : paths({Dtype::kBool, false, Dtype::kFloat32})) {
    const std::vector<std::uint8_t> items = {0, 1, 2, 255};
    EXPECT((converted<float>(path, items) == std::vector<float>{0, 1, 1, 1}));
  }
}

// Any bits, any number of items, any address: both paths agree and write nothing else.
TEST(the_instructions_of_a_processor_change_no_bit) {
  Rng rng(1, {});
  for (const ItemTypes& types : kConverted) {
    const ConvertItems portable = portable_conversion(types);
    const ConvertItems processor = processor_conversion(types);
    if (!processor) continue;
    const std::size_t from = item_size(types.stored), to = item_size(types.wanted);
    int wrong = 0;
    for (std::size_t count = 0; count <= 67; ++count) {
      for (std::size_t shift = 0; shift < 16; ++shift) {
        std::vector<std::byte> items(shift + count * from);
        for (std::byte& byte : items) byte = static_cast<std::byte>(rng.next());
        std::vector<std::byte> left(count * to + 64, std::byte{0xa5}), right = left;
        portable(items.data() + shift, count, 0.37f, left.data() + 31 - shift);
        processor(items.data() + shift, count, 0.37f, right.data() + 31 - shift);
        wrong += left != right;
        const std::size_t end = 31 - shift + count * to;
        for (std::size_t i = 0; i < left.size(); ++i)
          wrong += (i < 31 - shift || i >= end) && left[i] != std::byte{0xa5};
      }
    }
    EXPECT(wrong == 0);
  }
}

#if defined(__x86_64__)  // an emulator shows the flags of the machine that it runs on
// The kernel names what it found, and leaves out what it does not keep for us.
TEST(the_instructions_are_used_where_the_system_says_that_they_work) {
  std::ifstream facts("/proc/cpuinfo");
  std::string line;
  while (std::getline(facts, line) && !line.starts_with("flags")) {
  }
  if (!facts) return;  // another system
  line += ' ';
  const bool works = line.find(" avx2 ") != line.npos && line.find(" f16c ") != line.npos;
  EXPECT((processor_conversion({Dtype::kFloat16, false, Dtype::kFloat32}) != nullptr) == works);
}
#endif

TEST(other_pairs_are_not_converted) {
  int pairs = 0;
  for (std::uint32_t stored = 0; stored < kNumDtypes; ++stored) {
    for (std::uint32_t wanted = 0; wanted < kNumDtypes; ++wanted) {
      const ItemTypes types = {static_cast<Dtype>(stored), false, static_cast<Dtype>(wanted)};
      pairs += portable_conversion(types) != nullptr;
    }
  }
  EXPECT(pairs == 10);
  EXPECT(portable_conversion({Dtype::kInt8, true, Dtype::kInt64}) == nullptr);
}

}  // namespace
}  // namespace gz
