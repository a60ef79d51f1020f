// Counter-based randomness: a draw depends on its key and its number, never on thread or order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "core/base/logarithm.h"

namespace gz {

// SplitMix64's output function (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
// OOPSLA 2014; variant 13 of Stafford's mixers). A bijection of 64 bits.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;

// The high and low halves of a 128-bit product.
struct Product128 {
  std::uint64_t high;
  std::uint64_t low;
};

constexpr Product128 multiply_wide(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
}

// What draws are for: the first word of every key, so that a walk and a neighbourhood under the
// same seed have nothing in common. The numbers are part of what a seed means.
enum class Purpose : std::uint64_t {
  kNeighbors = 1,
  kWalks = 2,
  kNegatives = 3,
  kFanout = 4,
  kEpochOrder = 5,
  kSynthesis = 6,
  // Of loaders, which derive seeds of their own from a user's.
  kWalkBatches = 7,
  kEmbeddingBatches = 8,
  kRankSeeds = 9,
  kIndexCalls = 10
};

// Names a stream of draws: (seed, words...), for instance (seed, epoch, batch, hop, node). Keys of
// equal length that differ in one word never get the same stream; others do with odds 2^-64.
class Key {
 public:
  constexpr Key(std::uint64_t seed, std::initializer_list<std::uint64_t> words)
      : state_(mix64(seed + kGoldenGamma)) {
    for (const std::uint64_t word : words) state_ = with(word).state_;
  }
  constexpr Key(std::uint64_t seed, Purpose purpose)
      : Key(seed, {static_cast<std::uint64_t>(purpose)}) {}

  // This key with one more word: what a loop computes per node or per walk.
  constexpr Key with(std::uint64_t word) const {
    return Key(mix64((state_ ^ word) + kGoldenGamma));
  }

  constexpr std::uint64_t state() const { return state_; }

 private:
  explicit constexpr Key(std::uint64_t state) : state_(state) {}
  std::uint64_t state_;
};

// The stream of draws that belongs to one key. Draw i of a stream is mix64(key + (i + 1) * gamma),
// which is SplitMix64 seeded with the key; docs/design/randomness.md has the test vectors.
class Rng {
 public:
  explicit constexpr Rng(Key key) : state_(key.state()) {}
  constexpr Rng(std::uint64_t seed, std::initializer_list<std::uint64_t> words)
      : Rng(Key(seed, words)) {}

  constexpr std::uint64_t next() { return mix64(state_ += kGoldenGamma); }

  // Uniform over 0 … bound-1 without bias (Lemire: Fast Random Integer Generation in an Interval,
  // TOMACS 2019): multiply, and draw again in the rare sliver that would favour small values.
  // `bound` must not be 0.
  [[gnu::always_inline]] constexpr std::uint64_t below(std::uint64_t bound) {
    const Product128 product = multiply_wide(next(), bound);
    if (product.low < bound) [[unlikely]]
      return below_with_care(product, bound);
    return product.high;
  }

  // Uniform over [0, 1): 53 bits.
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  // Exponential with mean 1; never 0 and never infinite.
  double exponential() {
    // The largest value plus 0.5 would be rounded to 2^53, whose share of 2^53 has the logarithm 0.
    const auto share = static_cast<double>(std::min(next() >> 11, kLargestShare)) + 0.5;
    return -natural_log(share * 0x1.0p-53);
  }

 private:
  [[gnu::noinline]] constexpr std::uint64_t below_with_care(Product128 product,
                                                            std::uint64_t bound) {
    const std::uint64_t sliver = (0 - bound) % bound;
    while (product.low < sliver) product = multiply_wide(next(), bound);
    return product.high;
  }

  static constexpr std::uint64_t kLargestShare = (std::uint64_t{1} << 53) - 2;
  std::uint64_t state_;
};

}  // namespace gz
