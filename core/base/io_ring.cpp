#include "core/base/io_ring.h"

#include <linux/io_uring.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace gz {
namespace {

constexpr const char* kName = "io_uring";

// Since Linux 6.0 and 6.1; older headers do not have the names.
constexpr unsigned kSingleIssuer = 1u << 12;
constexpr unsigned kDeferred = 1u << 13;

int setup(unsigned entries, io_uring_params& params) {
  return static_cast<int>(::syscall(__NR_io_uring_setup, entries, &params));
}

long enter(int descriptor, unsigned to_submit, unsigned wanted) {
  return ::syscall(__NR_io_uring_enter, descriptor, to_submit, wanted,
                   wanted > 0 ? IORING_ENTER_GETEVENTS : 0u, nullptr, 0);
}

bool register_with(int descriptor, unsigned what, const void* argument) {
  return ::syscall(__NR_io_uring_register, descriptor, what, argument, 1) == 0;
}

// Memory that the kernel writes to and reads from.
unsigned load_acquire(unsigned* at) { return std::atomic_ref(*at).load(std::memory_order_acquire); }
void store_release(unsigned* at, unsigned value) {
  std::atomic_ref(*at).store(value, std::memory_order_release);
}

}  // namespace

IoRing::IoRing(unsigned entries) {
  io_uring_params params{};
  // Completions are handled when this thread waits for them, many at once, and never interrupt it.
  params.flags = kSingleIssuer | kDeferred;
  descriptor_ = setup(entries, params);
  if (descriptor_ < 0 && errno == EINVAL) {
    params = {};
    descriptor_ = setup(entries, params);
  }
  if (descriptor_ < 0) throw_errno(kName, "set up a ring");
  if ((params.features & IORING_FEAT_SINGLE_MMAP) == 0) {
    ::close(descriptor_);
    throw IoError(ENOSYS, kName, "cannot set up a ring: the kernel is older than 5.4");
  }
  entries_ = params.sq_entries;
  rings_size_ =
      std::max<std::size_t>(params.sq_off.array + params.sq_entries * sizeof(unsigned),
                            params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
  slots_size_ = params.sq_entries * sizeof(io_uring_sqe);
  const auto map = [&](std::size_t size, off_t offset) {
    void* const data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                              descriptor_, offset);
    if (data != MAP_FAILED) return data;
    const int code = errno;
    unmap();
    throw IoError(code, kName, concat("cannot map a ring: ", std::strerror(code)));
  };
  rings_ = static_cast<std::byte*>(map(rings_size_, IORING_OFF_SQ_RING));
  slots_ = map(slots_size_, IORING_OFF_SQES);
  const auto field = [&](std::uint32_t offset) {
    return reinterpret_cast<unsigned*>(rings_ + offset);
  };
  sq_tail_ = field(params.sq_off.tail);
  sq_array_ = field(params.sq_off.array);
  sq_mask_ = *field(params.sq_off.ring_mask);
  cq_head_ = field(params.cq_off.head);
  cq_tail_ = field(params.cq_off.tail);
  cq_mask_ = *field(params.cq_off.ring_mask);
  cqes_ = rings_ + params.cq_off.cqes;
}

IoRing::~IoRing() {
  drain();
  unmap();
}

// Closing a ring waits for nothing. What is only queued never reaches the kernel.
void IoRing::drain() noexcept {
  in_flight_ -= queued_;
  std::array<Done, 16> done;
  while (in_flight_ > 0) {
    if (take(done) > 0) continue;
    // Completions appear only while this thread waits for them. A kernel that is short of something
    // is asked again a millisecond later.
    if (enter(descriptor_, 0, in_flight_) < 0 && errno != EINTR) ::poll(nullptr, 0, 1);
  }
}

void IoRing::unmap() noexcept {
  if (slots_ != nullptr) ::munmap(slots_, slots_size_);
  if (rings_ != nullptr) ::munmap(rings_, rings_size_);
  ::close(descriptor_);
}

void IoRing::register_memory(std::span<std::byte> memory) {
  const iovec range = {memory.data(), memory.size()};
  if (register_with(descriptor_, IORING_REGISTER_BUFFERS, &range)) registered_memory_ = memory;
}

void IoRing::register_file(int descriptor) {
  if (register_with(descriptor_, IORING_REGISTER_FILES, &descriptor)) registered_file_ = descriptor;
}

void IoRing::read(int descriptor, std::byte* into, unsigned length, std::uint64_t offset,
                  std::uint64_t tag) {
  const unsigned tail = *sq_tail_;
  const unsigned slot = tail & sq_mask_;
  auto& entry = static_cast<io_uring_sqe*>(slots_)[slot];
  entry = {};
  const auto place = reinterpret_cast<std::uintptr_t>(into);
  const auto first = reinterpret_cast<std::uintptr_t>(registered_memory_.data());
  const bool known = place >= first && place - first + length <= registered_memory_.size();
  entry.opcode = known ? IORING_OP_READ_FIXED : IORING_OP_READ;
  entry.fd = descriptor;
  if (descriptor == registered_file_ && descriptor >= 0) {
    entry.fd = 0;  // its place among the registered files, of which it is the only one
    entry.flags = IOSQE_FIXED_FILE;
  }
  entry.addr = reinterpret_cast<std::uint64_t>(into);
  entry.len = length;
  entry.off = offset;
  entry.user_data = tag;
  sq_array_[slot] = slot;
  store_release(sq_tail_, tail + 1);
  ++queued_;
  ++in_flight_;
}

std::size_t IoRing::completed() const { return load_acquire(cq_tail_) - *cq_head_; }

std::size_t IoRing::take(std::span<Done> done) {
  const unsigned tail = load_acquire(cq_tail_);
  unsigned head = *cq_head_;
  std::size_t taken = 0;
  for (; head != tail && taken < done.size(); ++head, ++taken) {
    const auto& entry = static_cast<const io_uring_cqe*>(cqes_)[head & cq_mask_];
    done[taken] = {entry.user_data, entry.res};
  }
  store_release(cq_head_, head);
  in_flight_ -= static_cast<unsigned>(taken);
  return taken;
}

std::size_t IoRing::wait(std::span<Done> done, std::size_t at_least) {
  auto wanted =
      static_cast<unsigned>(std::min<std::size_t>(std::max<std::size_t>(at_least, 1), in_flight_));
  bool full = false;  // the kernel wants completions to be taken before it accepts more
  while (in_flight_ > 0) {
    const bool enough = completed() >= wanted;
    const unsigned to_submit = full ? 0 : queued_;
    if (enough && to_submit == 0) break;
    const long submitted = enter(descriptor_, to_submit, enough ? 0 : wanted);
    if (submitted > 0) {
      queued_ -= static_cast<unsigned>(submitted);
    } else if (submitted < 0 && errno != EINTR) {
      // With nothing of ours in the kernel there is no completion to wait for.
      if ((errno != EAGAIN && errno != EBUSY) || full || in_flight_ == queued_)
        throw_errno(kName, "submit reads");
      full = true;
      wanted = 1;
    }
  }
  return take(done);
}

}  // namespace gz
