// Rows of one file that one batch needs, grouped by section of the file.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "core/base/recycled_vector.h"
#include "core/gather/row_chunks.h"

namespace gz {

// A file's rows, cut into sections of a power of two.
struct Sections {
  unsigned shift = 0;
  std::size_t count = 1;

  std::size_t of(std::uint64_t row) const { return static_cast<std::size_t>(row >> shift); }
  std::uint64_t first_row(std::size_t section) const { return std::uint64_t{section} << shift; }
  std::uint32_t offset(std::uint64_t row) const {
    return static_cast<std::uint32_t>(row & ((std::uint64_t{1} << shift) - 1));
  }
};

// Each row has an index; those of one section are neighbours. Rows take memory when the sweep
// reaches their section, and give it back when the batch has taken them.
class RowRequest {
 public:
  // What it takes beside `rows` rows.
  static std::uint64_t bytes(std::uint64_t rows, std::size_t sections) {
    return 4 * rows + 9 * sections;
  }

  // `rows` are below the number of the file. `batch` tells which request goes first: the lowest.
  RowRequest(std::uint64_t batch, std::span<const std::int64_t> rows, Sections sections,
             std::uint64_t row_bytes, std::shared_ptr<RowChunks> chunks)
      : batch_(batch),
        sections_(sections),
        row_bytes_(row_bytes),
        chunk_shift_(static_cast<unsigned>(std::bit_width(chunks->chunk_bytes() / row_bytes)) - 1),
        pool_(std::move(chunks)),
        starts_(sections.count + 1),
        states_(std::make_unique<std::atomic<State>[]>(sections.count)),
        offsets_(rows.size()),
        chunks_(((rows.size() + chunk_rows() - 1) >> chunk_shift_)),
        num_held_(std::make_unique<std::atomic<std::uint32_t>[]>(chunks_.size())),
        is_ready_(rows.empty()) {
    for (const std::int64_t row : rows)
      ++starts_[sections_.of(static_cast<std::uint64_t>(row)) + 1];
    for (std::size_t s = 0; s < sections.count; ++s) {
      if (starts_[s + 1] > 0)
        most_chunks_ = std::max(most_chunks_, (starts_[s + 1] >> chunk_shift_) + std::size_t{2});
      starts_[s + 1] += starts_[s];
    }
    RecycledVector<std::uint32_t> next(starts_.begin(), starts_.end() - 1);
    for (const std::int64_t row : rows) {
      const auto place = static_cast<std::uint64_t>(row);
      offsets_[next[sections_.of(place)]++] = sections_.offset(place);
    }
    for (std::size_t c = 0; c < chunks_.size(); ++c)
      num_held_[c] =
          static_cast<std::uint32_t>(std::min(chunk_rows(), rows.size() - (c << chunk_shift_)));
  }
  ~RowRequest() {
    for (std::byte* const chunk : chunks_) {
      if (chunk != nullptr) pool_->give_back(chunk);
    }
  }
  RowRequest(const RowRequest&) = delete;
  RowRequest& operator=(const RowRequest&) = delete;

  std::uint64_t batch() const { return batch_; }
  std::uint64_t bytes() const { return bytes(offsets_.size(), sections_.count); }
  std::size_t num_sections() const { return sections_.count; }
  std::uint32_t begin(std::size_t section) const { return starts_[section]; }
  std::uint32_t end(std::size_t section) const { return starts_[section + 1]; }
  std::uint32_t offset(std::uint32_t index) const { return offsets_[index]; }
  std::uint64_t row(std::size_t section, std::uint32_t index) const {
    return sections_.first_row(section) + offsets_[index];
  }

  // Calls body(i, the index of rows[i]) for the rows that it was made of, in the same order.
  template <class Body>
  void for_each_index(std::span<const std::int64_t> rows, Body&& body) const {
    RecycledVector<std::uint32_t> next(starts_.begin(), starts_.end() - 1);
    for (std::size_t i = 0; i < rows.size(); ++i)
      body(i, next[sections_.of(static_cast<std::uint64_t>(rows[i]))]++);
  }

  // What the batch calls, on one thread at a time but for place() and taken().

  // Whether no more rows will arrive.
  bool is_ready() const { return is_ready_.load(std::memory_order_acquire); }
  // How many rows have arrived and have not been taken.
  std::uint64_t rows_to_take() const {
    // A section may be taken before it is counted.
    const std::uint64_t arrived = num_arrived_.load(std::memory_order_acquire);
    return arrived - std::min(arrived, num_taken_);
  }
  bool is_all_taken() const { return num_taken_ == offsets_.size(); }
  struct Part {
    std::size_t section;
    bool has_memory;  // else its rows have to be read
  };
  // A section that has arrived and that nobody has taken yet. Only if there are rows_to_take().
  Part take() {
    while (true) {
      const std::size_t s = cursor_;
      cursor_ = cursor_ + 1 == sections_.count ? 0 : cursor_ + 1;
      const State found = states_[s].load(std::memory_order_acquire);  // and so its rows
      if (found != State::kArrived && found != State::kLeftOut) continue;
      states_[s].store(State::kTaken, std::memory_order_relaxed);
      num_taken_ += end(s) - begin(s);
      return {s, found == State::kArrived};
    }
  }
  std::byte* place(std::uint32_t index) const {
    return chunks_[index >> chunk_shift_] + (index & (chunk_rows() - 1)) * row_bytes_;
  }
  // The rows of a section that take() returned are no longer needed. Any thread.
  void taken(std::size_t section) {
    for (std::uint32_t i = begin(section); i < end(section);) {
      const std::size_t c = i >> chunk_shift_;
      const auto next = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(std::uint64_t{c + 1} << chunk_shift_, end(section)));
      if (num_held_[c].fetch_sub(next - i, std::memory_order_acq_rel) == next - i &&
          chunks_[c] != nullptr)
        pool_->give_back(std::exchange(chunks_[c], nullptr));
      i = next;
    }
  }

  // What the sweep calls, under its lock.

  bool wants(std::size_t section) const {
    return begin(section) < end(section) &&
           states_[section].load(std::memory_order_relaxed) == State::kWanted;
  }
  // Chunks that the rows of a section still need.
  std::size_t chunks_needed(std::size_t section) const {
    std::size_t count = 0;
    for_each_chunk(section, [&](std::size_t c) { count += chunks_[c] == nullptr ? 1 : 0; });
    return count;
  }
  // At most, of any section.
  std::size_t most_chunks_of_section() const { return most_chunks_; }
  // Finds memory for the rows of a section, which will arrive then. False if there is too little.
  bool claim(std::size_t section) {
    bool is_enough = true;
    for_each_chunk(section, [&](std::size_t c) {
      if (chunks_[c] == nullptr) chunks_[c] = pool_->take();
      is_enough = is_enough && chunks_[c] != nullptr;
    });
    if (!is_enough) return false;
    states_[section].store(State::kClaimed, std::memory_order_relaxed);
    ++num_claimed_;
    return true;
  }
  void arrive(std::size_t section) {
    --num_claimed_;
    set(section, State::kArrived);
  }
  // From now on the batch takes rows, and drop() is not to be called.
  void protect() { is_protected_ = true; }
  // Whether it holds memory that drop() would give back, while nothing is read for it.
  bool can_drop() const {
    return !is_protected_ && num_claimed_ == 0 && num_arrived_.load(std::memory_order_relaxed) > 0;
  }
  // Gives back all memory: what had arrived is wanted again. Calls body(section) for each such.
  template <class Body>
  void drop(Body&& body) {
    for (std::size_t s = 0; s < sections_.count; ++s) {
      if (states_[s].load(std::memory_order_relaxed) != State::kArrived) continue;
      states_[s].store(State::kWanted, std::memory_order_relaxed);
      body(s);
    }
    for (std::byte*& chunk : chunks_) {
      if (chunk != nullptr) pool_->give_back(std::exchange(chunk, nullptr));
    }
    num_arrived_ = 0;
  }
  // The batch has to read the rows of a section itself.
  void leave_out(std::size_t section) { set(section, State::kLeftOut); }

 private:
  enum class State : std::uint8_t { kWanted, kClaimed, kArrived, kLeftOut, kTaken };

  std::size_t chunk_rows() const { return std::size_t{1} << chunk_shift_; }

  template <class Body>
  void for_each_chunk(std::size_t section, Body&& body) const {
    for (std::size_t c = begin(section) >> chunk_shift_; c <= (end(section) - 1) >> chunk_shift_;
         ++c)
      body(c);
  }

  void set(std::size_t section, State state) {
    states_[section].store(state, std::memory_order_release);
    const std::uint64_t rows = end(section) - begin(section);
    const std::uint64_t before = num_arrived_.fetch_add(rows, std::memory_order_release);
    if (before + rows == offsets_.size()) is_ready_.store(true, std::memory_order_release);
  }

  std::uint64_t batch_;
  Sections sections_;
  std::uint64_t row_bytes_;
  unsigned chunk_shift_;  // rows of a chunk: a power of two
  std::shared_ptr<RowChunks> pool_;
  RecycledVector<std::uint32_t> starts_;
  std::unique_ptr<std::atomic<State>[]> states_;  // by section
  RecycledVector<std::uint32_t> offsets_;         // in the section, by index
  RecycledVector<std::byte*> chunks_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> num_held_;  // rows not taken, by chunk
  std::size_t most_chunks_ = 0;
  std::size_t num_claimed_ = 0;  // sections that are being read
  bool is_protected_ = false;
  std::atomic<std::uint64_t> num_arrived_{0};
  std::atomic<bool> is_ready_;
  std::uint64_t num_taken_ = 0;
  std::size_t cursor_ = 0;
};

}  // namespace gz
