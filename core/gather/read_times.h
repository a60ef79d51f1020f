// How long a device takes for reads at random places.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/direct_file.h"

namespace gz {

// Seconds from one read to the next, with many in flight.
struct ReadTimes {
  std::uint64_t small_bytes = 0;
  std::uint64_t large_bytes = 0;
  double small_seconds = 0;
  double large_seconds = 0;
};

// Some thousand reads of 4 kB and some hundred of 64 kB, fewer from a slow device: about 150 ms.
// By io_uring, or by threads where that is refused. `file_size` is at least 64 kB. Empty if reads
// fail.
std::optional<ReadTimes> time_reads(const DirectFile& file, std::uint64_t file_size);

}  // namespace gz
