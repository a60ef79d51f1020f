// Reads from devices, many at a time: io_uring, or threads that wait where there is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/base/direct_file.h"
#include "core/base/io_ring.h"

namespace gz {

// Made, used and destroyed by one thread.
class ReadQueue {
 public:
  // Behind it nothing writes to a buffer any more.
  virtual ~ReadQueue() = default;

  // `into` lives until the read has completed. Needs in_flight() < depth.
  virtual void read(const DirectFile& file, std::byte* into, unsigned length, std::uint64_t offset,
                    std::uint64_t tag) = 0;

  // Waits until `at_least` reads have completed, or all there are, and takes as many completions as
  // there are, `done.size()` at most. Throws IoError if the kernel refuses.
  virtual std::size_t wait(std::span<IoRing::Done> done, std::size_t at_least) = 0;

  virtual std::size_t in_flight() const = 0;
};

// Room for `depth` reads at once, all of them into `memory`, which outlives the queue; `often` is
// the file most of them are of. Throws IoError where the kernel has or allows no io_uring.
std::unique_ptr<ReadQueue> ring_queue(std::size_t depth, std::span<std::byte> memory,
                                      const DirectFile& often);

// The same reads by threads that block.
std::unique_ptr<ReadQueue> thread_queue(std::size_t depth);

}  // namespace gz
