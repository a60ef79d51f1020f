// Some rows of a file, and the rank of each among them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/base/recycled_vector.h"

namespace gz {

// Which of many rows are chosen, and the rank of each among the chosen: two bits per row, and one
// cache line to look at.
class ChosenRows {
 public:
  explicit ChosenRows(std::uint64_t num_rows) : words_(num_rows / 64 + 1) {}

  void choose(std::uint64_t row) { words_[row / 64].bits |= std::uint64_t{1} << row % 64; }

  // After the last choose(), before rank(). Returns how many there are.
  std::uint64_t count() {
    std::uint64_t sum = 0;
    for (Word& word : words_) {
      word.before = sum;
      sum += static_cast<std::uint64_t>(std::popcount(word.bits));
    }
    return sum;
  }

  bool has(std::uint64_t row) const { return words_[row / 64].bits >> row % 64 & 1; }
  std::uint64_t rank(std::uint64_t row) const {
    const Word& word = words_[row / 64];
    const std::uint64_t below = word.bits & ((std::uint64_t{1} << row % 64) - 1);
    return word.before + static_cast<std::uint64_t>(std::popcount(below));
  }

  std::uint64_t bytes() const { return words_.size() * sizeof(Word); }

  // Calls body(row) for each, rising.
  template <class Body>
  void for_each(Body&& body) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t bits = words_[i].bits; bits != 0; bits &= bits - 1)
        body(i * 64 + static_cast<std::uint64_t>(std::countr_zero(bits)));
    }
  }

 private:
  struct Word {
    std::uint64_t bits = 0;
    std::uint64_t before = 0;  // chosen rows in the words before
  };
  RecycledVector<Word> words_;
};

// A range of rows, or any. Safe on many threads.
class RowSet {
 public:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  RowSet() = default;  // no rows
  RowSet(std::uint64_t begin, std::uint64_t end)
      : begin_(begin), range_(end - begin), count_(range_) {}
  explicit RowSet(ChosenRows chosen) : chosen_(std::move(chosen)), count_(chosen_->count()) {}

  std::uint64_t count() const { return count_; }
  std::uint64_t bytes() const { return chosen_ ? chosen_->bytes() : 0; }  // of the set itself

  // How many of the set are before it, or kNone.
  std::uint64_t find(std::uint64_t row) const {
    if (row - begin_ < range_) return row - begin_;
    if (chosen_ && chosen_->has(row)) return chosen_->rank(row);
    return kNone;
  }

  // Calls body(row) for each, rising.
  template <class Body>
  void for_each(Body&& body) const {
    for (std::uint64_t row = begin_; row < begin_ + range_; ++row) body(row);
    if (chosen_) chosen_->for_each(body);
  }

 private:
  std::uint64_t begin_ = 0;
  std::uint64_t range_ = 0;
  std::optional<ChosenRows> chosen_;
  std::uint64_t count_ = 0;
};

}  // namespace gz
