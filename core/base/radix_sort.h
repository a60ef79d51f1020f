// Least-significant-digit radix sort on part of a 64-bit key. Stable.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gz {

// Bits that hold every number below `count`; at least one. (GCC 12's std::bit_width is no int.)
inline int bits_below(std::uint64_t count) {
  return count < 2 ? 1 : 64 - std::countl_zero(count - 1);
}

// Sorts by bits low … high-1 of key(item). `items` and `scratch` are of equal length; the result is
// in `items`. Below some thousand items a comparison sort would win; buckets are larger than that.
template <class Items, class Key>
void radix_sort(Items& items, Items& scratch, int low, int high, Key key) {
  using Item = typename Items::value_type;
  // 2048 counters and as many write streams still fit the first-level cache and the TLB.
  constexpr int kDigit = 11;
  constexpr std::size_t kValues = std::size_t{1} << kDigit;
  const int num_passes = (high - low + kDigit - 1) / kDigit;
  if (num_passes <= 0 || items.size() < 2) return;
  const int width = (high - low + num_passes - 1) / num_passes;  // even digits, each at most kDigit
  const std::uint64_t mask = (std::uint64_t{1} << width) - 1;

  std::vector<std::array<std::size_t, kValues>> counts(static_cast<std::size_t>(num_passes));
  for (auto& digit : counts) digit.fill(0);
  for (const Item& item : items) {
    std::uint64_t rest = key(item) >> low;
    for (auto& digit : counts) {
      ++digit[rest & mask];
      rest >>= width;
    }
  }
  int shift = low;
  for (auto& digit : counts) {
    // A digit that all items share moves nothing.
    const bool constant = digit[(key(items[0]) >> shift) & mask] == items.size();
    if (!constant) {
      std::size_t sum = 0;
      for (std::size_t& count : digit) sum += std::exchange(count, sum);
      for (const Item& item : items) scratch[digit[(key(item) >> shift) & mask]++] = item;
      items.swap(scratch);
    }
    shift += width;
  }
}

}  // namespace gz
