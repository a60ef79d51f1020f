#include "core/convert/narrowing.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core/base/error.h"
#include "core/base/parallel.h"

namespace gz {
namespace {

constexpr std::size_t kChunk = 1 << 16;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargestFloat = std::numeric_limits<float>::max();

// A binary float of 16 bits, by the size of its parts.
template <int kMantissa, int kBias>
struct Half {
  static constexpr int kDropped = 52 - kMantissa;
  static constexpr std::uint16_t kInfinite =
      static_cast<std::uint16_t>((2 * kBias + 1) << kMantissa);

  static std::uint16_t rounded(double number) {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    const auto sign = static_cast<std::uint16_t>(bits >> 63 << 15);
    const double magnitude = std::abs(number);
    if (std::isnan(number)) return static_cast<std::uint16_t>(sign | kInfinite | kInfinite >> 1);
    if (magnitude < std::ldexp(1.0, 1 - kBias)) {
      // Below the normal numbers they are as far apart as the smallest of them.
      const double steps = std::nearbyint(std::ldexp(magnitude, kBias - 1 + kMantissa));
      return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(steps));
    }
    const std::uint64_t whole = bits & ~(std::uint64_t{1} << 63);
    const std::uint64_t half = (std::uint64_t{1} << (kDropped - 1)) - 1 + (whole >> kDropped & 1);
    const std::uint64_t value =
        ((whole + half) >> kDropped) - (std::uint64_t{1023 - kBias} << kMantissa);
    return static_cast<std::uint16_t>(sign | std::min<std::uint64_t>(value, kInfinite));
  }

  static double value(std::uint16_t half) {
    const std::uint64_t sign = std::uint64_t{half} >> 15 << 63;
    const std::uint64_t rest = half & 0x7fff;
    if (rest >= kInfinite)
      return rest == kInfinite ? (sign ? -kInfinity : kInfinity) : std::nan("");
    if (rest < std::uint64_t{1} << kMantissa) {
      const double magnitude = std::ldexp(static_cast<double>(rest), 1 - kBias - kMantissa);
      return sign ? -magnitude : magnitude;
    }
    return std::bit_cast<double>(sign | (rest + (std::uint64_t{1023 - kBias} << kMantissa))
                                            << kDropped);
  }
};

struct ToFloat32 {
  using Stored = float;
  static float rounded(double number) { return static_cast<float>(number); }
  static double value(float stored) { return stored; }
};
struct ToFloat16 : Half<10, 15> {
  using Stored = std::uint16_t;
};
struct ToBfloat16 : Half<7, 127> {
  using Stored = std::uint16_t;
};

NarrowingLoss no_loss() {
  NarrowingLoss loss;
  loss.minimum = kInfinity;
  loss.maximum = -kInfinity;
  return loss;
}

void measure(NarrowingLoss& loss, double before, double after) {
  loss.minimum = std::min(loss.minimum, before);  // a NaN compares false and leaves it as it is
  loss.maximum = std::max(loss.maximum, before);
  const double error = std::abs(after - before);
  if (error < kInfinity) {
    loss.max_error = std::max(loss.max_error, error);
    loss.sum_of_squares += error * error;
    ++loss.measured;
  } else if (std::isfinite(before)) {
    ++loss.overflows;
  }
}

// In the order of the chunks, so that the sum does not depend on the threads.
NarrowingLoss joined(const std::vector<NarrowingLoss>& parts) {
  NarrowingLoss loss = no_loss();
  for (const NarrowingLoss& part : parts) {
    loss.max_error = std::max(loss.max_error, part.max_error);
    loss.sum_of_squares += part.sum_of_squares;
    loss.measured += part.measured;
    loss.overflows += part.overflows;
    loss.minimum = std::min(loss.minimum, part.minimum);
    loss.maximum = std::max(loss.maximum, part.maximum);
  }
  return loss;
}

template <class Target, class Float>
NarrowingLoss narrow_to(std::span<const Float> numbers, std::span<std::uint8_t> out) {
  using Stored = typename Target::Stored;
  std::vector<NarrowingLoss> parts((numbers.size() + kChunk - 1) / kChunk, no_loss());
  parallel_chunks(numbers.size(), kChunk, [&](std::size_t begin, std::size_t end) {
    NarrowingLoss loss = no_loss();
    for (std::size_t i = begin; i < end; ++i) {
      const auto number = static_cast<double>(numbers[i]);
      const Stored stored = Target::rounded(number);
      std::memcpy(out.data() + i * sizeof stored, &stored, sizeof stored);
      measure(loss, number, Target::value(stored));
    }
    parts[begin / kChunk] = loss;
  });
  return joined(parts);
}

// The scale of a row whose largest magnitude is `largest`.
float scale_for(double largest) {
  const auto scale = static_cast<float>(largest / 127);
  // One that was rounded up must not make the largest number infinite.
  return 127.0 * scale > kLargestFloat ? std::nextafter(scale, 0.0F) : scale;
}

}  // namespace

template <class Float>
NarrowingLoss narrow(std::span<const Float> numbers, Dtype target, std::span<std::uint8_t> out) {
  if (out.size() != numbers.size() * item_size(target)) {
    throw std::invalid_argument("narrow: the output has not the size of its numbers");
  }
  if (target == Dtype::kFloat32) return narrow_to<ToFloat32>(numbers, out);
  if (target == Dtype::kFloat16) return narrow_to<ToFloat16>(numbers, out);
  if (target == Dtype::kBfloat16) return narrow_to<ToBfloat16>(numbers, out);
  throw std::invalid_argument(concat("narrow: no way to ", dtype_name(target)));
}

template <class Float>
std::size_t quantise(std::span<const Float> numbers, std::size_t width, std::span<std::uint8_t> out,
                     std::span<float> scales, NarrowingLoss& loss) {
  const std::size_t num_rows = scales.size();
  if (numbers.size() != num_rows * width || out.size() != numbers.size()) {
    throw std::invalid_argument("quantise: the outputs have not the size of the rows");
  }
  const std::size_t grain = std::max<std::size_t>(1, kChunk / std::max<std::size_t>(width, 1));
  std::vector<NarrowingLoss> parts((num_rows + grain - 1) / grain, no_loss());
  std::atomic<std::size_t> first_bad{num_rows};
  parallel_chunks(num_rows, grain, [&](std::size_t begin, std::size_t end) {
    NarrowingLoss part = no_loss();
    for (std::size_t row = begin; row < end; ++row) {
      const Float* const in = numbers.data() + row * width;
      double largest = 0;
      bool finite = true;
      for (std::size_t i = 0; i < width; ++i) {
        const double magnitude = std::abs(static_cast<double>(in[i]));
        finite = finite && magnitude <= kLargestFloat;
        largest = std::max(largest, magnitude);
      }
      if (!finite) {
        std::size_t known = first_bad.load();
        while (row < known && !first_bad.compare_exchange_weak(known, row)) {
        }
        return;
      }
      const float scale = scale_for(largest);
      scales[row] = scale;
      const double divisor = scale == 0 ? 1 : static_cast<double>(scale);
      for (std::size_t i = 0; i < width; ++i) {
        const auto number = static_cast<double>(in[i]);
        const double level = std::clamp(std::nearbyint(number / divisor), -127.0, 127.0);
        out[row * width + i] = static_cast<std::uint8_t>(static_cast<std::int8_t>(level));
        measure(part, number, static_cast<float>(level) * scale);
      }
    }
    parts[begin / grain] = part;
  });
  loss = joined(parts);
  return first_bad.load();
}

template NarrowingLoss narrow(std::span<const float>, Dtype, std::span<std::uint8_t>);
template NarrowingLoss narrow(std::span<const double>, Dtype, std::span<std::uint8_t>);
template std::size_t quantise(std::span<const float>, std::size_t, std::span<std::uint8_t>,
                              std::span<float>, NarrowingLoss&);
template std::size_t quantise(std::span<const double>, std::size_t, std::span<std::uint8_t>,
                              std::span<float>, NarrowingLoss&);

}  // namespace gz
