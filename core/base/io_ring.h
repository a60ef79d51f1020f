// The kernel's asynchronous reads (io_uring), spoken through its own header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gz {

// Made and used by one thread. Reads are queued, submitted together and complete in any order.
class IoRing {
 public:
  // Room for `entries` reads at once, rounded up to a power of two. Throws IoError where the kernel
  // has no io_uring, forbids it (seccomp, sysctl) or has no memory for it.
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
  void register_file(int descriptor);

  // Queues a read of `length` bytes; `into` must live until it has completed. Needs
  // in_flight() < entries().
  void read(int descriptor, std::byte* into, unsigned length, std::uint64_t offset,
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
  std::size_t completed() const;
  std::size_t take(std::span<Done> done);
  void drain() noexcept;
  void unmap() noexcept;

  int descriptor_ = -1;
  unsigned entries_ = 0;
  unsigned queued_ = 0;     // not submitted yet
  unsigned in_flight_ = 0;  // these included
  std::span<std::byte> registered_memory_;
  int registered_file_ = -1;
  std::byte* rings_ = nullptr;  // submission and completion ring share a mapping
  std::size_t rings_size_ = 0;
  void* slots_ = nullptr;
  std::size_t slots_size_ = 0;
  unsigned* sq_tail_ = nullptr;
  unsigned* sq_array_ = nullptr;
  unsigned sq_mask_ = 0;
  unsigned* cq_head_ = nullptr;
  unsigned* cq_tail_ = nullptr;
  unsigned cq_mask_ = 0;
  const void* cqes_ = nullptr;
};

}  // namespace gz
