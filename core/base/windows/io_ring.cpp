#include "core/base/io_ring.h"

#include <windows.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <vector>

#include "core/base/error.h"
#include "core/base/windows/system_error.h"

namespace gz {

// Overlapped reads whose completions run on this thread while it waits. A completion port would
// take them as well, but a file belongs to one port for as long as it is open, and rings of many
// threads read the same file.
struct IoRing::State {
  // OVERLAPPED comes first, so that its address leads to the rest.
  struct Slot {
    OVERLAPPED where = {};
    State* state = nullptr;
    std::uint64_t tag = 0;
  };

  std::vector<Slot> slots;
  std::vector<Slot*> free;
  std::vector<Done> done;     // in the order in which they came; has room for all slots
  std::size_t at_device = 0;  // reads that have not completed

  static void CALLBACK complete(DWORD code, DWORD bytes, OVERLAPPED* where) {
    auto* const slot = reinterpret_cast<Slot*>(where);
    slot->state->finish(*slot, code, bytes);
    --slot->state->at_device;
  }

  void finish(Slot& slot, DWORD code, DWORD bytes) {
    int result = static_cast<int>(bytes);
    if (code == ERROR_HANDLE_EOF) {
      result = 0;
    } else if (code != ERROR_SUCCESS) {
      result = -errno_of(code);
    }
    done.push_back({slot.tag, result});
    free.push_back(&slot);
  }
};

IoRing::IoRing(unsigned entries) {
  constexpr unsigned kMost = 1 << 15;
  if (entries == 0 || entries > kMost)
    throw IoError(EINVAL, "overlapped reads", "cannot set up a ring: expected 1 to 32768 entries");
  entries_ = std::bit_ceil(entries);
  state_ = std::make_unique<State>();
  state_->slots.resize(entries_);
  state_->done.reserve(entries_);
  for (State::Slot& slot : state_->slots) {
    slot.state = state_.get();
    state_->free.push_back(&slot);
  }
}

IoRing::~IoRing() {
  while (state_->at_device > 0) ::SleepEx(INFINITE, TRUE);
}

// Windows has nothing to be told.
void IoRing::register_memory(std::span<std::byte> /*memory*/) {}
void IoRing::register_file(FileHandle /*file*/) {}

void IoRing::read(FileHandle file, std::byte* into, unsigned length, std::uint64_t offset,
                  std::uint64_t tag) {
  State::Slot& slot = *state_->free.back();
  state_->free.pop_back();
  slot.where = {};
  slot.where.Offset = static_cast<DWORD>(offset);
  slot.where.OffsetHigh = static_cast<DWORD>(offset >> 32);
  slot.tag = tag;
  ++in_flight_;
  if (::ReadFileEx(as_handle(file), into, length, &slot.where, &State::complete)) {
    ++state_->at_device;
  } else {
    state_->finish(slot, ::GetLastError(), 0);
  }
}

std::size_t IoRing::wait(std::span<Done> done, std::size_t at_least) {
  const auto wanted = std::min<std::size_t>(std::max<std::size_t>(at_least, 1), in_flight_);
  State& state = *state_;
  while (state.done.size() < wanted) ::SleepEx(INFINITE, TRUE);
  const std::size_t taken = std::min(state.done.size(), done.size());
  const auto end = state.done.begin() + static_cast<std::ptrdiff_t>(taken);
  std::copy(state.done.begin(), end, done.begin());
  state.done.erase(state.done.begin(), end);
  in_flight_ -= static_cast<unsigned>(taken);
  return taken;
}

}  // namespace gz
