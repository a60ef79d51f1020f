// How a pipeline uses its memory, computed from what some of its batches were measured to need.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/recycled_vector.h"

namespace gz {

// Bytes of a batch as it is handed out.
struct BatchBytes {
  std::uint64_t sample = 0;
  std::uint64_t rows = 0;
};

// The largest sample and the largest rows of some batches, and some more: the next batch may be
// larger than all of these.
BatchBytes largest(std::span<const BatchBytes> batches);

// Divides `room` bytes among items of these sizes, the smallest first. An item that needs at most a
// quarter of what is left, such as labels, gets all it needs: a read brings one page, whatever the
// row's size. The others share what is left in proportion to their sizes. take(i, share) returns
// how many bytes of its share item i uses; the rest is left for those that follow.
void divide_room(std::uint64_t room, std::span<const std::uint64_t> sizes,
                 const std::function<std::uint64_t(std::size_t, std::uint64_t)>& take);

// How many different rows so many batches miss: a power of their number (Heaps' law).
struct Growth {
  double of_one = 0;
  double power = 1;

  double of(double batches) const { return of_one * std::pow(batches, power); }
  // Of the misses of one more batch, those of rows that no other misses.
  double fresh_share(double batches) const { return power * std::pow(batches, power - 1); }
};

// From the rows that `num_batches` batches miss, one after the other. `most` is what a batch is
// expected to miss at most.
Growth growth_of_misses(RecycledVector<std::int64_t> missed, std::size_t num_batches,
                        std::size_t most);

// The rows of one attribute that batches miss. None of a mapped file.
struct MissedRows {
  Growth growth;
  std::uint64_t row_bytes = 0;
  std::uint64_t num_rows = 0;
};

// What batches ahead may hold.
struct ReadAhead {
  struct Rows {
    double misses_per_batch = 0;  // what to expect
    double fresh_share = 1;       // of these, rows that no batch ahead misses
    std::size_t slots = 0;        // rows that are kept or read ahead
  };
  std::size_t most_batches = 1;
  std::uint64_t sample_bytes = 0;  // of a batch that waits: what to expect
  std::vector<Rows> rows;          // by attribute
};

// As many batches as fit into `window` bytes, and at most `most_batches`. `sample_bytes` is a
// sample's size as it is handed out; `missed` is by attribute.
ReadAhead plan_read_ahead(std::uint64_t window, std::uint64_t sample_bytes,
                          std::size_t most_batches, std::span<const MissedRows> missed);

}  // namespace gz
