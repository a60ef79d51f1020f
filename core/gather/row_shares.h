// Rows of which each host has a range, and every host has some: where those of a batch are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/recycled_memory.h"
#include "core/base/types.h"
#include "core/gather/row_copy.h"
#include "core/gather/row_set.h"

namespace gz {

// Ids of a batch in the order of where their rows are: first those that every host has, then those
// of host 0, 1, …; within each, in the order of the batch.
struct RowSplit {
  std::vector<std::int64_t> counts;  // one for the rows that every host has, one for each host
  Buffer<std::int64_t> rows;    // their numbers there: among these rows, or from the range's begin
  Buffer<std::int64_t> places;  // for each id of the batch, where it is in `rows`
};

// Safe to share between threads.
class RowShares {
 public:
  // Host i has the rows from bounds[i] to before bounds[i + 1]; every host has `hot`, which rises.
  // Throws std::invalid_argument if bounds fall or do not begin with 0, or if `hot` does not rise
  // or has an id that is not below the last bound.
  RowShares(std::vector<NodeId> bounds, std::span<const NodeId> hot);

  // Throws std::out_of_range for an id that is no row.
  RowSplit split(std::span<const NodeId> ids) const;

  std::uint64_t bytes() const { return hot_ ? hot_->bytes() : 0; }

 private:
  std::size_t host_of(NodeId id) const;

  std::vector<NodeId> bounds_;
  std::optional<ChosenRows> hot_;
};

// While one of these lives, so many bytes of rows that are on their way may be out or wait to be
// used again, beside what others allow.
class RowMemory {
 public:
  explicit RowMemory(std::uint64_t bytes) : allowance_(bytes) { room_.set(bytes); }

 private:
  BlockAllowance allowance_;
  IdleRoom room_;
};

// Copies the places[i]-th of `rows` to the i-th place of `out`, as `copy` says. `scales` has one
// for each of `rows` if the copy needs them. Throws std::out_of_range for a place that is none of
// `rows`, std::invalid_argument if `out` has another size than all places take.
void place_rows(const RowCopy& copy, std::span<const std::byte> rows, std::span<const float> scales,
                std::span<const std::int64_t> places, std::span<std::byte> out);

}  // namespace gz
