// The system's asynchronous reads: io_uring on Linux, overlapped reads on Windows, none on macOS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/base/file_handle.h"

namespace gz {

// Made and used by one thread. Reads are queued, submitted together and complete in any order.
class IoRing {
 public:
  // Room for `entries` reads at once, rounded up to a power of two. Throws IoError where the system
  // has no such reads, forbids them (seccomp, sysctl) or has no memory for them.
  explicit IoRing(unsigned entries);
  // Waits for every read that was submitted: behind it nothing writes to a buffer any more.
  ~IoRing();
  IoRing(const IoRing&) = delete;
  IoRing& operator=(const IoRing&) = delete;

  unsigned entries() const { return entries_; }
  // Reads that were queued and whose completion was not taken yet.
  unsigned in_flight() const { return in_flight_; }

  // Both spare the kernel work at every read: it knows the pages of `memory`, and holds the file.
  // Called once each, before the first read. Where the kernel refuses (RLIMIT_MEMLOCK), reads are
  // as they would be without. `memory` and the file must outlive the ring.
  void register_memory(std::span<std::byte> memory);
  void register_file(FileHandle file);

  // Queues a read of `length` bytes; `into` must live until it has completed. Needs
  // in_flight() < entries().
  void read(FileHandle file, std::byte* into, unsigned length, std::uint64_t offset,
            std::uint64_t tag);

  struct Done {
    std::uint64_t tag;
    int result;  // bytes read, or a negative errno
  };

  // Submits what is queued, waits until `at_least` reads have completed, or all that are in flight
  // if they are fewer, and takes as many completions as there are, `done.size()` at most. Returns
  // their number: 0 only if nothing is in flight. A wait for many costs less than many waits. It
  // returns early if the kernel takes no more reads for now; an interrupted one goes on. Throws
  // IoError if the kernel refuses.
  std::size_t wait(std::span<Done> done, std::size_t at_least = 1);

 private:
  struct State;

  unsigned entries_ = 0;
  unsigned in_flight_ = 0;
  std::unique_ptr<State> state_;
};

}  // namespace gz
