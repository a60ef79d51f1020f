// Unsigned arithmetic that says when it would wrap: sizes read from a file are not to be trusted.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace gz {

constexpr std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
  if (b > std::numeric_limits<std::uint64_t>::max() - a) return std::nullopt;
  return a + b;
}

constexpr std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) {
  if (a != 0 && b > std::numeric_limits<std::uint64_t>::max() / a) return std::nullopt;
  return a * b;
}

// `value` up to the next multiple of `step`, a power of two.
constexpr std::optional<std::uint64_t> checked_round_up(std::uint64_t value, std::uint64_t step) {
  const auto sum = checked_add(value, step - 1);
  if (!sum) return std::nullopt;
  return *sum & ~(step - 1);
}

}  // namespace gz
