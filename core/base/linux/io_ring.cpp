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

struct IoRing::State {
  int descriptor = -1;
  unsigned queued = 0;  // not submitted yet
  std::span<std::byte> registered_memory;
  FileHandle registered_file = kNoFile;
  std::byte* rings = nullptr;  // submission and completion ring share a mapping
  std::size_t rings_size = 0;
  void* slots = nullptr;
  std::size_t slots_size = 0;
  unsigned* sq_tail = nullptr;
  unsigned* sq_array = nullptr;
  unsigned sq_mask = 0;
  unsigned* cq_head = nullptr;
  unsigned* cq_tail = nullptr;
  unsigned cq_mask = 0;
  const void* cqes = nullptr;

  explicit State(io_uring_params& params, unsigned entries);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::byte* map(std::size_t size, off_t offset) const;
  std::size_t completed() const { return load_acquire(cq_tail) - *cq_head; }
  std::size_t take(std::span<Done> done);
};

IoRing::State::State(io_uring_params& params, unsigned entries) {
  // Completions are handled when this thread waits for them, many at once, and never interrupt it.
  params.flags = kSingleIssuer | kDeferred;
  descriptor = setup(entries, params);
  if (descriptor < 0 && errno == EINVAL) {
    params = {};
    descriptor = setup(entries, params);
  }
  if (descriptor < 0) throw_errno(kName, "set up a ring");
}

IoRing::State::~State() {
  if (slots != nullptr) ::munmap(slots, slots_size);
  if (rings != nullptr) ::munmap(rings, rings_size);
  ::close(descriptor);
}

std::byte* IoRing::State::map(std::size_t size, off_t offset) const {
  void* const data =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, offset);
  if (data == MAP_FAILED) throw_errno(kName, "map a ring");
  return static_cast<std::byte*>(data);
}

std::size_t IoRing::State::take(std::span<Done> done) {
  const unsigned tail = load_acquire(cq_tail);
  unsigned head = *cq_head;
  std::size_t taken = 0;
  for (; head != tail && taken < done.size(); ++head, ++taken) {
    const auto& entry = static_cast<const io_uring_cqe*>(cqes)[head & cq_mask];
    done[taken] = {entry.user_data, entry.res};
  }
  store_release(cq_head, head);
  return taken;
}

IoRing::IoRing(unsigned entries) {
  io_uring_params params{};
  state_ = std::make_unique<State>(params, entries);
  State& state = *state_;
  if ((params.features & IORING_FEAT_SINGLE_MMAP) == 0)
    throw IoError(ENOSYS, kName, "cannot set up a ring: the kernel is older than 5.4");
  entries_ = params.sq_entries;
  state.rings_size =
      std::max<std::size_t>(params.sq_off.array + params.sq_entries * sizeof(unsigned),
                            params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
  state.slots_size = params.sq_entries * sizeof(io_uring_sqe);
  state.rings = state.map(state.rings_size, IORING_OFF_SQ_RING);
  state.slots = state.map(state.slots_size, IORING_OFF_SQES);
  const auto field = [&](std::uint32_t offset) {
    return reinterpret_cast<unsigned*>(state.rings + offset);
  };
  state.sq_tail = field(params.sq_off.tail);
  state.sq_array = field(params.sq_off.array);
  state.sq_mask = *field(params.sq_off.ring_mask);
  state.cq_head = field(params.cq_off.head);
  state.cq_tail = field(params.cq_off.tail);
  state.cq_mask = *field(params.cq_off.ring_mask);
  state.cqes = state.rings + params.cq_off.cqes;
}

// Closing a ring waits for nothing. What is only queued never reaches the kernel.
IoRing::~IoRing() {
  in_flight_ -= state_->queued;
  std::array<Done, 16> done;
  while (in_flight_ > 0) {
    const std::size_t taken = state_->take(done);
    in_flight_ -= static_cast<unsigned>(taken);
    if (taken > 0) continue;
    // Completions appear only while this thread waits for them. A kernel that is short of something
    // is asked again a millisecond later.
    if (enter(state_->descriptor, 0, in_flight_) < 0 && errno != EINTR) ::poll(nullptr, 0, 1);
  }
}

void IoRing::register_memory(std::span<std::byte> memory) {
  const iovec range = {memory.data(), memory.size()};
  if (register_with(state_->descriptor, IORING_REGISTER_BUFFERS, &range))
    state_->registered_memory = memory;
}

void IoRing::register_file(FileHandle file) {
  const int descriptor = static_cast<int>(file);
  if (register_with(state_->descriptor, IORING_REGISTER_FILES, &descriptor))
    state_->registered_file = file;
}

void IoRing::read(FileHandle file, std::byte* into, unsigned length, std::uint64_t offset,
                  std::uint64_t tag) {
  State& state = *state_;
  const unsigned tail = *state.sq_tail;
  const unsigned slot = tail & state.sq_mask;
  auto& entry = static_cast<io_uring_sqe*>(state.slots)[slot];
  entry = {};
  const auto place = reinterpret_cast<std::uintptr_t>(into);
  const auto first = reinterpret_cast<std::uintptr_t>(state.registered_memory.data());
  const bool known = place >= first && place - first + length <= state.registered_memory.size();
  entry.opcode = known ? IORING_OP_READ_FIXED : IORING_OP_READ;
  entry.fd = static_cast<int>(file);
  if (file == state.registered_file && file != kNoFile) {
    entry.fd = 0;  // its place among the registered files, of which it is the only one
    entry.flags = IOSQE_FIXED_FILE;
  }
  entry.addr = reinterpret_cast<std::uint64_t>(into);
  entry.len = length;
  entry.off = offset;
  entry.user_data = tag;
  state.sq_array[slot] = slot;
  store_release(state.sq_tail, tail + 1);
  ++state.queued;
  ++in_flight_;
}

std::size_t IoRing::wait(std::span<Done> done, std::size_t at_least) {
  State& state = *state_;
  auto wanted =
      static_cast<unsigned>(std::min<std::size_t>(std::max<std::size_t>(at_least, 1), in_flight_));
  bool full = false;  // the kernel wants completions to be taken before it accepts more
  while (in_flight_ > 0) {
    const bool enough = state.completed() >= wanted;
    const unsigned to_submit = full ? 0 : state.queued;
    if (enough && to_submit == 0) break;
    const long submitted = enter(state.descriptor, to_submit, enough ? 0 : wanted);
    if (submitted > 0) {
      state.queued -= static_cast<unsigned>(submitted);
    } else if (submitted < 0 && errno != EINTR) {
      // With nothing of ours in the kernel there is no completion to wait for.
      if ((errno != EAGAIN && errno != EBUSY) || full || in_flight_ == state.queued)
        throw_errno(kName, "submit reads");
      full = true;
      wanted = 1;
    }
  }
  const std::size_t taken = state.take(done);
  in_flight_ -= static_cast<unsigned>(taken);
  return taken;
}

}  // namespace gz
