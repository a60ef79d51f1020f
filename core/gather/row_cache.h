// Rows that stay in memory, as they are stored.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/recycled_memory.h"
#include "core/gather/row_reader.h"

namespace gz {

// Which of many rows are chosen, and the how-manieth of the chosen each is: two bits per row, and
// one line of memory to look at.
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
  std::vector<Word> words_;
};

// Filled once; then find() is safe on any thread and takes no lock.
class RowCache {
 public:
  // The first `count` rows of the file.
  RowCache(const RowLayout& layout, std::uint64_t count);
  // Any rows.
  RowCache(const RowLayout& layout, ChosenRows chosen);
  ~RowCache() { take_back(memory_); }
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  // Reads all rows, in the order of the file. May be interrupted, and called again. Throws IoError.
  void fill(RowReader& reader);
  bool is_filled() const { return filled_ == count_; }

  std::uint64_t count() const { return count_; }
  std::uint64_t bytes() const { return count_ * row_bytes_ + (chosen_ ? chosen_->bytes() : 0); }
  GatherCounts counts() const { return counts_; }  // of fill()

  // The row, or null.
  const std::byte* find(std::uint64_t row) const {
    if (row < prefix_) return place(row);
    if (chosen_ && chosen_->has(row)) return place(chosen_->rank(row));
    return nullptr;
  }

 private:
  std::byte* place(std::uint64_t rank) const {
    return static_cast<std::byte*>(memory_.data) + rank * row_bytes_;
  }

  std::uint64_t row_bytes_;
  std::uint64_t prefix_ = 0;
  std::optional<ChosenRows> chosen_;
  std::uint64_t count_ = 0;
  std::uint64_t filled_ = 0;
  MemoryBlock memory_;
  GatherCounts counts_;
};

}  // namespace gz
