// How a pipeline uses its memory, computed from what some of its batches were measured to need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

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

// The rows of one attribute that a batch misses. None of a mapped file.
struct MissedRows {
  std::uint64_t rows = 0;  // at most, as far as one can tell
  std::uint64_t row_bytes = 0;
  std::size_t sections = 0;  // of the file
};

// What batches ahead may hold.
struct ReadAhead {
  std::size_t most_batches = 1;
  // Of a batch that waits, what to expect: its sample and what it has asked for, and the latter.
  std::uint64_t sample_bytes = 0;
  std::uint64_t request_bytes = 0;
  // Samples of all but the first batches are drawn again when their rows have arrived: what they
  // would take holds rows of more batches.
  bool draws_again = false;
  std::size_t num_near = 0;   // those first batches
  std::size_t num_early = 1;  // batches whose rows are all there, at which the sweep rests
  std::size_t chunks = 0;     // memory of rows that have arrived
  std::size_t chunk_bytes = 1;
  std::uint64_t worth_taking = 1;  // rows that have arrived, at most
};

struct AheadNeeds {
  std::uint64_t window = 0;        // bytes
  std::uint64_t sample_bytes = 0;  // of a sample as it is handed out
  std::size_t num_outputs = 2;     // batches that are handed out or being assembled
  std::size_t most_batches = 1;
  std::vector<MissedRows> missed;  // by attribute
  bool draws_again = false;
};

// As many batches as fit.
ReadAhead plan_read_ahead(const AheadNeeds& needs);

}  // namespace gz
