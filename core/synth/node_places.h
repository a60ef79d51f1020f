// Where each node stands in the law of a synthetic graph: a bijection that hides it from the ids.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "core/base/random.h"

namespace gz {

// What the draws of one synthetic data set are for: the word after Purpose::kSynthesis.
enum class Drawn : std::uint64_t {
  kPlaces = 1,     // then: kind of node, round
  kEdges = 2,      // kind of edge, number of the edge or of the position it copies
  kCentroids = 3,  // class, number of the 64 columns
  kNoise = 4,      // kind of node, node
  kSplits = 5      // kind of node, round
};

constexpr Key synthesis_key(std::uint64_t seed, Drawn drawn) {
  return Key(seed, Purpose::kSynthesis).with(static_cast<std::uint64_t>(drawn));
}

// Laws speak of places: low ones are hubs, or old, and a place tells the class. Node ids must not,
// so places and ids are joined by an alternating network over two near-equal factors whose product
// hardly exceeds the count (the generalised Feistel network of Black, Rogaway: Ciphers with
// Arbitrary Finite Domains, CT-RSA 2002); the few results beyond it are sent through again. Unlike
// EpochOrder it goes both ways, and hardly ever twice. Arguments must be below count().
class NodePlaces {
 public:
  NodePlaces(std::uint64_t count, Key key)
      : count_(count), rows_(static_cast<std::uint64_t>(std::sqrt(static_cast<double>(count)))) {
    while (rows_ * rows_ < count) ++rows_;
    columns_ = (count + rows_ - 1) / rows_;
    for (std::size_t round = 0; round < kRounds; ++round) keys_[round] = key.with(round).state();
  }

  std::uint64_t count() const { return count_; }

  std::uint64_t node(std::uint64_t place) const {
    do place = forward(place);
    while (place >= count_);
    return place;
  }

  std::uint64_t place(std::uint64_t node) const {
    do node = backward(node);
    while (node >= count_);
    return node;
  }

 private:
  static constexpr std::size_t kRounds = 4;

  std::uint64_t shift(std::size_t round, std::uint64_t other, std::uint64_t bound) const {
    return multiply_wide(mix64(other + keys_[round]), bound).high;
  }

  std::uint64_t forward(std::uint64_t x) const {
    std::uint64_t row = x / columns_, column = x % columns_;
    for (std::size_t round = 0; round < kRounds; round += 2) {
      row += shift(round, column, rows_);
      if (row >= rows_) row -= rows_;
      column += shift(round + 1, row, columns_);
      if (column >= columns_) column -= columns_;
    }
    return row * columns_ + column;
  }

  std::uint64_t backward(std::uint64_t x) const {
    std::uint64_t row = x / columns_, column = x % columns_;
    for (std::size_t round = kRounds; round > 0; round -= 2) {
      column += columns_ - shift(round - 1, row, columns_);
      if (column >= columns_) column -= columns_;
      row += rows_ - shift(round - 2, column, rows_);
      if (row >= rows_) row -= rows_;
    }
    return row * columns_ + column;
  }

  std::uint64_t count_;
  std::uint64_t rows_;
  std::uint64_t columns_ = 1;
  std::array<std::uint64_t, kRounds> keys_{};
};

}  // namespace gz
