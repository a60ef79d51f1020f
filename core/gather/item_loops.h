// Conversions item by item, as loops that a compiler makes vectors of.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/gather/item_conversion.h"

namespace gz {

// A choice without a branch. GCC 12 makes one of ?: beside a float's arithmetic, and then no
// vectors.
[[gnu::always_inline]] inline std::uint32_t either(bool first, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t mask = 0 - std::uint32_t{first};
  return (a & mask) | (b & ~mask);
}

// Without a subnormal float on the way: a processor told to flush those gives the same bits, as
// F16C does.
struct Float16ToFloat32 {
  using Stored = std::uint16_t;
  static constexpr std::uint32_t kRebias = std::uint32_t{127 - 15} << 23;

  [[gnu::always_inline]] static std::uint32_t of(std::uint16_t half, float) {
    const std::uint32_t sign = (std::uint32_t{half} & 0x8000) << 16;
    const std::uint32_t rest = half & 0x7fff;
    const std::uint32_t normal = (rest << 13) + kRebias;
    const auto subnormal = std::bit_cast<std::uint32_t>(
        static_cast<float>(static_cast<std::int32_t>(rest & 0x3ff)) * 0x1p-24f);
    const std::uint32_t infinite = normal + kRebias;
    const std::uint32_t nan = infinite | 1 << 22;
    const std::uint32_t finite = either(rest < 0x400, subnormal, normal);
    return sign | either(rest < 0x7c00, finite, either(rest == 0x7c00, infinite, nan));
  }
};

struct Bfloat16ToFloat32 {
  using Stored = std::uint16_t;
  [[gnu::always_inline]] static std::uint32_t of(std::uint16_t half, float) {
    return std::uint32_t{half} << 16;
  }
};

// To the nearest, ties to even; a NaN stays one and is quiet.
struct Float32ToFloat16 {
  using Stored = std::uint32_t;
  [[gnu::always_inline]] static std::uint16_t of(std::uint32_t bits, float) {
    const std::uint32_t sign = bits >> 16 & 0x8000;
    const std::uint32_t rest = bits & 0x7fffffff;
    const std::uint32_t normal = ((rest + 0xfff + (rest >> 13 & 1)) >> 13) - ((127 - 15) << 10);
    // From 0.5 on floats are as far apart as subnormal float16 are: adding it rounds to those.
    const std::uint32_t subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0.5f) -
        std::bit_cast<std::uint32_t>(0.5f);
    const std::uint32_t nan = 0x7e00 | (rest >> 13 & 0x3ff);
    const std::uint32_t finite = either(rest < 0x38800000, subnormal, normal);  // 2^-14
    const std::uint32_t number = either(rest < 0x47800000, finite, 0x7c00);     // 2^16
    return static_cast<std::uint16_t>(sign | either(rest <= 0x7f800000, number, nan));
  }
};

// The same, but every NaN becomes one and the same: so does write_features().
struct Float32ToBfloat16 {
  using Stored = std::uint32_t;
  [[gnu::always_inline]] static std::uint16_t of(std::uint32_t bits, float) {
    const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return static_cast<std::uint16_t>((bits & 0x7fffffff) <= 0x7f800000 ? rounded : 0x7fc0);
  }
};

struct QuantisedToFloat32 {
  using Stored = std::int8_t;
  [[gnu::always_inline]] static float of(std::int8_t item, float scale) {
    return static_cast<float>(item) * scale;
  }
};

struct BoolToFloat32 {
  using Stored = std::uint8_t;
  [[gnu::always_inline]] static float of(std::uint8_t item, float) {
    return item != 0 ? 1.0f : 0.0f;
  }
};

template <class From, class To>
struct Cast {
  using Stored = From;
  [[gnu::always_inline]] static To of(From item, float) { return static_cast<To>(item); }
};

// Always inlined: the loop then has the instructions of the function it is in.
template <class Conversion>
[[gnu::always_inline]] inline void convert_each(const std::byte* __restrict items,
                                                std::size_t count, float scale,
                                                std::byte* __restrict out) {
  for (std::size_t i = 0; i < count; ++i) {
    typename Conversion::Stored item;
    std::memcpy(&item, items + i * sizeof item, sizeof item);
    const auto converted = Conversion::of(item, scale);
    std::memcpy(out + i * sizeof converted, &converted, sizeof converted);
  }
}

constexpr std::uint32_t pair_of(Dtype stored, Dtype wanted) {
  return static_cast<std::uint32_t>(stored) * kNumDtypes + static_cast<std::uint32_t>(wanted);
}

// Returns body.operator()<Conversion>(), or null for a pair that is not converted.
template <class Body>
ConvertItems with_conversion(const ItemTypes& types, Body&& body) {
  if (types.quantised) {
    return types.wanted == Dtype::kFloat32 ? body.template operator()<QuantisedToFloat32>()
                                           : nullptr;
  }
  switch (pair_of(types.stored, types.wanted)) {
    case pair_of(Dtype::kFloat16, Dtype::kFloat32):
      return body.template operator()<Float16ToFloat32>();
    case pair_of(Dtype::kBfloat16, Dtype::kFloat32):
      return body.template operator()<Bfloat16ToFloat32>();
    case pair_of(Dtype::kInt8, Dtype::kFloat32):
      return body.template operator()<Cast<std::int8_t, float>>();
    case pair_of(Dtype::kUint8, Dtype::kFloat32):
      return body.template operator()<Cast<std::uint8_t, float>>();
    case pair_of(Dtype::kBool, Dtype::kFloat32):
      return body.template operator()<BoolToFloat32>();
    case pair_of(Dtype::kFloat64, Dtype::kFloat32):
      return body.template operator()<Cast<double, float>>();
    case pair_of(Dtype::kFloat32, Dtype::kFloat16):
      return body.template operator()<Float32ToFloat16>();
    case pair_of(Dtype::kFloat32, Dtype::kBfloat16):
      return body.template operator()<Float32ToBfloat16>();
    case pair_of(Dtype::kInt32, Dtype::kInt64):
      return body.template operator()<Cast<std::int32_t, std::int64_t>>();
    case pair_of(Dtype::kInt16, Dtype::kInt64):
      return body.template operator()<Cast<std::int16_t, std::int64_t>>();
    default:
      return nullptr;
  }
}

}  // namespace gz
