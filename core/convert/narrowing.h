// Numbers stored in fewer bits, and what that costs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/types.h"

namespace gz {

struct NarrowingLoss {
  double max_error = 0;         // of numbers that are finite before and after
  double sum_of_squares = 0;    // of those errors
  std::uint64_t measured = 0;   // how many there are
  std::uint64_t overflows = 0;  // finite numbers that became infinite
  double minimum = 0;  // over all but NaN; infinity and -infinity where there is nothing else
  double maximum = 0;
};

// Rounds each number once, to the nearest, ties to even; a NaN stays one. `target` is float32,
// float16 or bfloat16, and `out` has its size for each number. The same for any number of threads.
// `Number` is float, double, std::int64_t or std::uint64_t.
template <class Number>
NarrowingLoss narrow(std::span<const Number> numbers, Dtype target, std::span<std::uint8_t> out);

// Rows of `width` numbers as int8 from -127 to 127, with one scale for each row. Returns the first
// row that holds a number that is not finite in float32, or the number of rows if there is none.
template <class Float>
std::size_t quantise(std::span<const Float> numbers, std::size_t width, std::span<std::uint8_t> out,
                     std::span<float> scales, NarrowingLoss& loss);

}  // namespace gz
