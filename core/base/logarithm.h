// A logarithm that has the same bits on every machine, which libm's does not promise.
#pragma once

#include <bit>
#include <cstdint>

namespace gz {

// Natural logarithm of a positive, normal, finite number, to within a few units in the last place.
// Additions, multiplications and one division only, never fused (the build turns contraction off),
// so that a seed draws the same sample on x86 and arm.
constexpr double natural_log(double x) {
  constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  // Above sqrt(2) half of it is taken: m lies in 0.7 … 1.4, where the series is short. Computed,
  // not decided: of random numbers every other branch would be mispredicted.
  constexpr auto kRootOfTwo = std::bit_cast<std::uint64_t>(1.4142135623730951) & kMantissa;
  const std::uint64_t halved = (bits & kMantissa) > kRootOfTwo ? 1 : 0;
  const auto exponent = static_cast<std::int64_t>((bits >> 52) + halved) - 1023;
  const auto m = std::bit_cast<double>((bits & kMantissa) | ((1023 - halved) << 52));
  // log(m) = 2 atanh(z) = 2 (z + z^3/3 + z^5/5 + …) with z = (m - 1) / (m + 1), at most 0.172.
  const double z = (m - 1.0) / (m + 1.0);
  const double y = z * z;
  double sum = 1.0 / 23.0;
  for (int k = 21; k >= 3; k -= 2) sum = sum * y + 1.0 / k;
  // ln 2 in two parts: the first has few enough bits that its product is exact.
  constexpr double kLn2High = 0x1.62e42fefa38p-1;
  constexpr double kLn2Low = 0x1.ef35793c7673p-45;
  const auto e = static_cast<double>(exponent);
  return e * kLn2High + (2.0 * z + (2.0 * z * y * sum + e * kLn2Low));
}

}  // namespace gz
