// The order of an epoch: a permutation that is computed place by place.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/radix_sort.h"
#include "core/base/random.h"

namespace gz {

// Item at each place, for `count` items. Nothing is stored for a long epoch, so it can begin
// anywhere: a Feistel network over the next power of four (Luby, Rackoff: How to Construct
// Pseudorandom Permutations, SIAM J. Comput. 1988) whose results beyond `count` are permuted again
// until they fall below (Black, Rogaway: Ciphers with Arbitrary Finite Domains, CT-RSA 2002).
class EpochOrder {
 public:
  EpochOrder(std::uint64_t count, bool shuffle, std::uint64_t seed, std::uint64_t epoch)
      : count_(count), shuffle_(shuffle), key_(Key(seed, Purpose::kEpochOrder).with(epoch)) {
    if (!shuffle || count == 0) return;
    if (count <= kShort) {
      shuffle_short();
      return;
    }
    half_ = (bits_below(count) + 1) / 2;
    for (std::size_t round = 0; round < kRounds; ++round) keys_[round] = key_.with(round).state();
  }

  std::uint64_t operator[](std::uint64_t place) const {
    if (!shuffle_) return place;
    if (!short_.empty()) return short_[place];
    do place = permuted(place);
    while (place >= count_);
    return place;
  }

 private:
  // A network over few bits reaches not every permutation alike; so few items are shuffled.
  static constexpr std::uint64_t kShort = 4096;
  static constexpr std::size_t kRounds = 8;

  void shuffle_short() {
    short_.resize(count_);
    std::iota(short_.begin(), short_.end(), 0u);
    Rng rng(key_);
    for (std::uint64_t left = count_; left > 1; --left)
      std::swap(short_[left - 1], short_[rng.below(left)]);
  }

  std::uint64_t permuted(std::uint64_t place) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
    std::uint64_t left = place >> half_, right = place & mask;
    for (const std::uint64_t key : keys_) {
      const std::uint64_t mixed = left ^ (mix64(right + key) & mask);
      left = std::exchange(right, mixed);
    }
    return left << half_ | right;
  }

  std::uint64_t count_;
  bool shuffle_;
  Key key_;
  int half_ = 0;
  std::array<std::uint64_t, kRounds> keys_{};
  std::vector<std::uint32_t> short_;
};

}  // namespace gz
