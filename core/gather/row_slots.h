// Places in memory for rows that batches need soon, each kept until the last batch has used it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/base/prefetch.h"
#include "core/base/random.h"
#include "core/base/recycled_memory.h"
#include "core/base/recycled_vector.h"

namespace gz {

// Bookkeeping for a fixed number of slots of one row each; a row has one slot however many need it.
// One thread at a time, except row().
class RowSlots {
 public:
  using Slot = std::uint32_t;
  static constexpr Slot kNone = std::numeric_limits<Slot>::max();

  RowSlots(std::size_t count, std::uint64_t row_bytes)
      : row_bytes_(row_bytes),
        memory_(hand_out(std::max<std::size_t>(count * row_bytes, 1))),
        held_(count),
        table_(std::bit_ceil(2 * count + 1), kNone),
        mask_(table_.size() - 1) {
    free_.reserve(count);
    for (std::size_t slot = count; slot > 0; --slot) free_.push_back(static_cast<Slot>(slot - 1));
  }
  ~RowSlots() { take_back(memory_); }
  RowSlots(const RowSlots&) = delete;
  RowSlots& operator=(const RowSlots&) = delete;

  std::size_t count() const { return held_.size(); }
  std::size_t num_free() const { return free_.size(); }
  std::uint64_t bytes() const { return memory_.bytes + held_.size() * 28 + 4 * table_.size(); }
  std::byte* row(Slot slot) const {
    return static_cast<std::byte*>(memory_.data) + slot * row_bytes_;
  }
  // A number that the user keeps with a slot.
  std::uint64_t& due(Slot slot) { return held_[slot].due; }

  // For a take() or a give_back() that is to come.
  void prefetch_row(std::uint64_t row) const { prefetch(&table_[place_of(row)]); }
  void prefetch_slot(Slot slot) const {
    if (slot != kNone) prefetch(&held_[slot]);
  }

  struct Taken {
    Slot slot;      // kNone: all are taken
    bool is_first;  // the slot was free: its row has not been read yet
  };

  Taken take(std::uint64_t row) {
    std::size_t at = place_of(row);
    while (table_[at] != kNone) {
      Held& held = held_[table_[at]];
      if (held.row == row) {
        ++held.users;
        return {table_[at], false};
      }
      at = (at + 1) & mask_;
    }
    if (free_.empty()) return {kNone, false};
    const Slot slot = free_.back();
    free_.pop_back();
    held_[slot] = {row, 0, 1};
    table_[at] = slot;
    return {slot, true};
  }

  void give_back(Slot slot) {
    if (--held_[slot].users > 0) return;
    forget(held_[slot].row);
    free_.push_back(slot);
  }

 private:
  struct Held {
    std::uint64_t row;
    std::uint64_t due;
    std::uint32_t users;
  };

  std::size_t place_of(std::uint64_t row) const { return mix64(row) & mask_; }

  // Linear probing without tombstones: what probed past the gap moves into it.
  void forget(std::uint64_t row) {
    std::size_t gap = place_of(row);
    while (held_[table_[gap]].row != row) gap = (gap + 1) & mask_;
    for (std::size_t at = (gap + 1) & mask_; table_[at] != kNone; at = (at + 1) & mask_) {
      const std::size_t home = place_of(held_[table_[at]].row);
      if (((at - home) & mask_) < ((at - gap) & mask_)) continue;
      table_[gap] = table_[at];
      gap = at;
    }
    table_[gap] = kNone;
  }

  std::uint64_t row_bytes_;
  MemoryBlock memory_;
  RecycledVector<Held> held_;
  RecycledVector<Slot> table_;
  std::size_t mask_;
  RecycledVector<Slot>
      free_;  // the last one given back is taken first: its memory is in use already
};

}  // namespace gz
