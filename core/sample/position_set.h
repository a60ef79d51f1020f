// A set of numbers that is cleared in the time it took to fill.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.h"

namespace gz {

class PositionSet {
 public:
  // Empties the set and makes room for `count` numbers.
  void reset(std::size_t count) {
    const std::size_t capacity = std::bit_ceil(count * 2 + 2);
    slots_.assign(capacity, kFree);
    shift_ = 64 - std::countr_zero(capacity);
  }

  // Whether `number`, which is not negative, was not there before.
  bool insert(std::int64_t number) {
    std::int64_t& slot = slots_[place(number)];
    if (slot == number) return false;
    slot = number;
    return true;
  }

  bool contains(std::int64_t number) const { return slots_[place(number)] == number; }

 private:
  // Where `number` is, or would be.
  std::size_t place(std::int64_t number) const {
    const std::size_t mask = slots_.size() - 1;
    auto at =
        static_cast<std::size_t>((static_cast<std::uint64_t>(number) * kGoldenGamma) >> shift_);
    while (slots_[at] != kFree && slots_[at] != number) at = (at + 1) & mask;
    return at;
  }

  static constexpr std::int64_t kFree = -1;
  std::vector<std::int64_t> slots_;
  int shift_ = 0;
};

}  // namespace gz
