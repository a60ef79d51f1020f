#include "core/convert/narrowing.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "core/base/error.h"
#include "core/base/parallel.h"

namespace gz {
namespace {

constexpr std::size_t kChunk = 1 << 16;
// Numbers that are narrowed before any of them is measured: the first can be done several at a
// time, while sums are taken in order.
constexpr std::size_t kBlock = 512;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargestFloat = std::numeric_limits<float>::max();

// How the source's numbers are laid out in bits.
template <class Float>
struct Layout {
  using Bits = std::conditional_t<sizeof(Float) == 8, std::uint64_t, std::uint32_t>;
  static constexpr int kMantissa = std::numeric_limits<Float>::digits - 1;
  static constexpr int kBias = std::numeric_limits<Float>::max_exponent - 1;
  static constexpr int kSign = 8 * sizeof(Float) - 1;

  static constexpr Bits power_of_two(int exponent) {
    return static_cast<Bits>(exponent + kBias) << kMantissa;
  }
};

// Without a branch, so that compilers can work on several numbers at a time.
template <class Bits>
Bits choose(bool condition, Bits yes, Bits no) {
  const Bits mask = Bits{0} - static_cast<Bits>(condition);
  return (yes & mask) | (no & ~mask);
}

// A binary float of 16 bits, by the size of its parts. Numbers are compared by their bits, which
// have the same order.
template <int kMantissa, int kBias>
struct Half {
  using Stored = std::uint16_t;
  static constexpr std::uint16_t kInfinite =
      static_cast<std::uint16_t>((2 * kBias + 1) << kMantissa);
  static constexpr std::uint16_t kNotANumber = kInfinite | kInfinite >> 1;

  template <class Float>
  struct From : Layout<Float> {
    using typename Layout<Float>::Bits;
    static constexpr int kDropped = Layout<Float>::kMantissa - kMantissa;
    static constexpr Bits kBiases = static_cast<Bits>(Layout<Float>::kBias - kBias) << kMantissa;
    static constexpr Bits kLeastNormal = Layout<Float>::power_of_two(1 - kBias);
    static constexpr Bits kEndless = Layout<Float>::power_of_two(Layout<Float>::kBias + 1);
    // The step of this number is that of the numbers below the normal ones.
    static constexpr Bits kSteps =
        Layout<Float>::power_of_two(Layout<Float>::kMantissa + 1 - kBias - kMantissa);
    // From here on the nearest one is infinite.
    static constexpr Bits kTooLarge = Layout<Float>::power_of_two(kBias) +
                                      (Bits{1} << Layout<Float>::kMantissa) -
                                      (Bits{1} << (kDropped - 1));
  };

  template <class Float>
  static std::uint16_t rounded(Float number) {
    using F = From<Float>;
    using Bits = typename F::Bits;
    const auto bits = std::bit_cast<Bits>(number);
    const Bits whole = bits & ~(Bits{1} << F::kSign);
    const Bits half = (Bits{1} << (F::kDropped - 1)) - 1 + (whole >> F::kDropped & 1);
    const Bits normal = ((whole + half) >> F::kDropped) - F::kBiases;
    const auto in_steps = std::bit_cast<Float>(whole) + std::bit_cast<Float>(F::kSteps);
    const Bits small = std::bit_cast<Bits>(in_steps) - F::kSteps;
    Bits value = choose<Bits>(whole < F::kLeastNormal, small, normal);
    value = choose<Bits>(whole < F::kTooLarge, value, kInfinite);
    value = choose<Bits>(whole > F::kEndless, kNotANumber, value);
    return static_cast<std::uint16_t>(bits >> F::kSign << 15 | value);
  }

  // Infinite for what is no number, too: it is only measured, beside a source that is none either.
  template <class Float>
  static Float value(std::uint16_t half) {
    using F = From<Float>;
    using Bits = typename F::Bits;
    const Bits sign = static_cast<Bits>(half >> 15) << F::kSign;
    const Bits rest = half & 0x7fff;
    const Bits normal = (rest + F::kBiases) << F::kDropped;
    const auto small = std::bit_cast<Float>(F::kSteps | rest) - std::bit_cast<Float>(F::kSteps);
    Bits value = choose<Bits>(rest < Bits{1} << kMantissa, std::bit_cast<Bits>(small), normal);
    value = choose<Bits>(rest < kInfinite, value, F::kEndless);
    return std::bit_cast<Float>(value | sign);
  }
};

using ToFloat16 = Half<10, 15>;
using ToBfloat16 = Half<7, 127>;
struct ToFloat32 {
  using Stored = float;
  template <class Float>
  static float rounded(Float number) {
    return static_cast<float>(number);
  }
  template <class Float>
  static Float value(float stored) {
    return stored;
  }
};

// The nearest integer, the even one of two, of a number below 2^51. std::nearbyint is a call where
// the processor need not have an instruction for it.
double nearest(double number) {
  constexpr double kOnlyIntegers = 0x1.8p52;
  return (number + kOnlyIntegers) - kOnlyIntegers;
}

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

float to_round(float number) { return number; }
double to_round(double number) { return number; }

// A double that rounds to the same float of up to 24 bits as the integer itself, which may have
// more bits than a double. From 2^53 on, two neighbours of such a float and what is half-way
// between them are even multiples of 2^12. So an integer that is none may become the odd multiple
// beside it, which has at most 52 bits ("rounding to odd": Boldo and Melquiond, 2008).
template <class Integer>
double to_round(Integer number) {
  constexpr Integer kExact = Integer{1} << 53;
  constexpr Integer kStep = Integer{1} << 12;
  bool exact = number <= kExact;
  if constexpr (std::is_signed_v<Integer>) exact = exact && number >= -kExact;
  const Integer rest = number & (kStep - 1);
  const Integer odd = (number - rest) | (rest == 0 ? Integer{0} : kStep);
  return static_cast<double>(exact ? number : odd);
}

template <class Target, class Number>
NarrowingLoss narrow_block(std::span<const Number> numbers, std::uint8_t* out, NarrowingLoss loss) {
  using Stored = typename Target::Stored;
  using Float = decltype(to_round(Number{}));
  Float after[kBlock];
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Stored stored = Target::rounded(to_round(numbers[i]));
    std::memcpy(out + i * sizeof stored, &stored, sizeof stored);
    after[i] = Target::template value<Float>(stored);
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    measure(loss, static_cast<double>(numbers[i]), after[i]);
  }
  return loss;
}

template <class Target, class Number>
NarrowingLoss narrow_to(std::span<const Number> numbers, std::span<std::uint8_t> out) {
  std::vector<NarrowingLoss> parts((numbers.size() + kChunk - 1) / kChunk, no_loss());
  parallel_chunks(numbers.size(), kChunk, [&](std::size_t begin, std::size_t end) {
    NarrowingLoss loss = no_loss();
    for (std::size_t i = begin; i < end; i += kBlock) {
      loss = narrow_block<Target>(numbers.subspan(i, std::min(kBlock, end - i)),
                                  out.data() + i * sizeof(typename Target::Stored), loss);
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

template <class Number>
NarrowingLoss narrow(std::span<const Number> numbers, Dtype target, std::span<std::uint8_t> out) {
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
        const double level = std::clamp(nearest(number / divisor), -127.0, 127.0);
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
template NarrowingLoss narrow(std::span<const std::int64_t>, Dtype, std::span<std::uint8_t>);
template NarrowingLoss narrow(std::span<const std::uint64_t>, Dtype, std::span<std::uint8_t>);
template std::size_t quantise(std::span<const float>, std::size_t, std::span<std::uint8_t>,
                              std::span<float>, NarrowingLoss&);
template std::size_t quantise(std::span<const double>, std::size_t, std::span<std::uint8_t>,
                              std::span<float>, NarrowingLoss&);

}  // namespace gz
