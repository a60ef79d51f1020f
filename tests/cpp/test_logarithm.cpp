#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/logarithm.h"
#include "core/base/random.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

// Units in the last place between ours and libm's.
double ulps_off(double x) {
  const double expected = std::log(x);
  const double size = std::abs(expected);
  const double ulp = std::nextafter(size, std::numeric_limits<double>::infinity()) - size;
  return std::abs(natural_log(x) - expected) / ulp;
}

TEST(logarithms_are_those_of_libm_to_4_ulp_at_every_magnitude) {
  Rng rng(1, {});
  for (int exponent = -1022; exponent <= 1023; ++exponent) {
    for (int i = 0; i < 200; ++i) EXPECT(ulps_off(std::ldexp(1 + rng.uniform(), exponent)) <= 4);
  }
  EXPECT(ulps_off(std::numeric_limits<double>::min()) <= 4);
  EXPECT(ulps_off(std::numeric_limits<double>::max()) <= 4);
}

TEST(logarithms_are_those_of_libm_to_4_ulp_near_1) {
  // Where ln x is close to 0, and where the mantissa is halved.
  Rng rng(2, {});
  for (int distance = 1; distance <= 52; ++distance) {
    const double step = std::ldexp(1.0, -distance);
    for (int i = 0; i < 1000; ++i) {
      EXPECT(ulps_off(1 + step * (0.5 + rng.uniform() / 2)) <= 4);
      EXPECT(ulps_off(1 - step * (0.5 + rng.uniform() / 2) / 2) <= 4);
      EXPECT(ulps_off(1.4142135623730951 * (1 + step * (rng.uniform() - 0.5))) <= 4);
    }
  }
}

TEST(the_logarithm_of_1_is_0) { EXPECT(natural_log(1.0) == 0); }

TEST(logarithms_rise) {
  Rng rng(3, {});
  double last = natural_log(1e-6);
  for (double x = 1e-6; x < 1e6; x *= 1 + 0.01 * (0.5 + rng.uniform())) {
    EXPECT(natural_log(x) >= last);
    last = natural_log(x);
  }
}

// A seed means the same sample everywhere only as long as these bits do not change.
TEST(logarithms_have_the_bits_they_always_had) {
  constexpr std::array<std::pair<double, double>, 7> kExpected = {{
      {2.0, 0x1.62e42fefa39efp-1},
      {3.0, 0x1.193ea7aad030bp+0},
      {10.0, 0x1.26bb1bbb55516p+1},
      {0x1.0p-54, -0x1.2b708872320e2p+5},
      {1e-300, -0x1.5963447f87fb5p+9},
      {0x1.0000000000001p+0, 0x1.0p-52},
      {0x1.fffffffffffffp-1, -0x1.0p-53},
  }};
  for (const auto& [x, logarithm] : kExpected) EXPECT(natural_log(x) == logarithm);
  // Where ours is two units off, and a better series would show.
  static_assert(natural_log(0x1.00000062b6143p+0) == 0x1.8ad85073e02e1p-26);
}

}  // namespace
}  // namespace gz
