// What a read costs the device: a fixed time, and a time for each byte.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/direct_file.h"
#include "core/gather/read_times.h"

namespace gz {

// Seconds of the device's time while its queue is full. By default those of a common SSD.
struct ReadCost {
  double per_read = 3e-6;
  double per_byte = 1.1e-6 / 4096;

  // Up to this many unneeded bytes are read rather than making another read: whole blocks of 4 kB,
  // 256 kB at most.
  std::uint64_t gap() const;
};

// The line through both. Empty if large reads took no longer than small ones on a device that is
// fast: then the machine was too busy to tell.
std::optional<ReadCost> cost_of(const ReadTimes& times);

// Measured once for a device and process (time_reads), and left for other processes in the user's
// cache folder for a week. Files below 16 MB and those with holes tell nothing about their device
// and get the default. Safe on many threads and in forked children.
ReadCost read_cost(const DirectFile& file, std::uint64_t file_size);

// The gap of the environment variable GRAPHZERO_READ_GAP, else that of read_cost(). Throws
// std::invalid_argument for a value that is no such size.
std::uint64_t read_gap(const DirectFile& file, std::uint64_t file_size);

// What the cache folder holds for a device; empty if nothing is from the week before `now`, in
// seconds since 1970. Lines that are not understood are passed over, and dropped at the next write.
std::optional<ReadCost> remembered_cost(std::uint64_t device, std::int64_t now);
void remember_cost(std::uint64_t device, const ReadCost& cost, std::int64_t now);

}  // namespace gz
