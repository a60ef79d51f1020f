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

  std::uint64_t end() const { return words_.size() * 64; }  // above all rows

  // Calls body(row) for each from `first` to before `last`, rising.
  template <class Body>
  void for_each(std::uint64_t first, std::uint64_t last, Body&& body) const {
    for (std::uint64_t i = first / 64; i * 64 < last; ++i) {
      for (std::uint64_t bits = words_[i].bits; bits != 0; bits &= bits - 1) {
        const std::uint64_t row = i * 64 + static_cast<std::uint64_t>(std::countr_zero(bits));
        if (row >= first && row < last) body(row);
      }
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

  // All rows lie between these.
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return chosen_ ? chosen_->end() : begin_ + range_; }

  // Calls body(row) for each from `first` to before `last`, rising. Both lie between begin() and
  // end().
  template <class Body>
  void for_each(std::uint64_t first, std::uint64_t last, Body&& body) const {
    if (chosen_) {
      chosen_->for_each(first, last, body);
    } else {
      for (std::uint64_t row = first; row < last; ++row) body(row);
    }
  }
  template <class Body>
  void for_each(Body&& body) const {
    for_each(begin(), end(), body);
  }

 private:
  std::uint64_t begin_ = 0;
  std::uint64_t range_ = 0;
  std::optional<ChosenRows> chosen_;
  std::uint64_t count_ = 0;
};

}  // namespace gz
