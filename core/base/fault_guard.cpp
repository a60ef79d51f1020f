#include "core/base/fault_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "core/base/error.h"

namespace gz {

// Slots form a list that only grows and are reused, so that the handler can walk it without a lock
// and a forked child inherits it in a usable state.
struct FaultGuard::Slot {
  std::atomic<std::uintptr_t> begin{0};  // 0: free
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> taken{false};
  std::atomic<bool> broken{false};
  std::uint64_t size = 0;
  bool writable = false;
  int descriptor = -1;
  const char* name = "";
  Slot* next = nullptr;
};

struct FaultHandler {
  using Slot = FaultGuard::Slot;

  static inline std::atomic<Slot*> slots{nullptr};
  static inline struct sigaction previous = {};

  static Slot* take_slot() {
    for (Slot* slot = slots.load(); slot != nullptr; slot = slot->next) {
      bool expected = false;
      if (slot->taken.compare_exchange_strong(expected, true)) return slot;
    }
    auto* slot = new Slot;
    slot->taken = true;
    slot->next = slots.load();
    while (!slots.compare_exchange_weak(slot->next, slot)) {
    }
    return slot;
  }

  static Slot* find(std::uintptr_t address) {
    for (Slot* slot = slots.load(); slot != nullptr; slot = slot->next) {
      const std::uintptr_t begin = slot->begin.load();
      if (begin != 0 && address >= begin && address < slot->end.load()) return slot;
    }
    return nullptr;
  }

  static void check_intact(const Slot& slot) {
    struct stat status = {};
    if (::fstat(slot.descriptor, &status) != 0) throw_errno(slot.name, "stat");
    const auto now = static_cast<std::uint64_t>(status.st_size);
    if (now < slot.size) {
      throw IoError(
          EIO, slot.name,
          concat("the file shrank while it was mapped: expected ", slot.size, " bytes, found ", now,
                 "; write files anew beside the old one instead of truncating them"));
    }
    if (slot.broken.load()) {
      throw IoError(
          EIO, slot.name,
          "a page of the mapped file could not be read (it shrank, or the device failed)");
    }
  }

  static void say(const Slot& slot) {
    const char* const parts[] = {
        "graphzero: ", slot.name,
        ": the mapped file shrank or could not be read; views of it now hold zeros\n"};
    for (const char* part : parts) {
      if (::write(STDERR_FILENO, part, std::strlen(part)) < 0) return;
    }
  }

  // True if the fault was ours and the access can be tried again.
  static bool answer(std::uintptr_t address) {
    Slot* const slot = find(address);
    if (slot == nullptr) return false;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::uintptr_t from = address & ~(page - 1);
    std::uintptr_t to = from + page;
    struct stat status = {};
    if (::fstat(slot->descriptor, &status) == 0 &&
        static_cast<std::uint64_t>(status.st_size) <= from - slot->begin.load()) {
      // Everything behind the new end of the file is gone: one signal, not one per page.
      to = slot->end.load();
    }
    const int protection = slot->writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void* const zeros = ::mmap(reinterpret_cast<void*>(from), to - from, protection,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (zeros == MAP_FAILED) return false;
    if (!slot->broken.exchange(true)) say(*slot);
    return true;
  }

  static void handle(int signal, siginfo_t* info, void* /*context*/) {
    const int saved_errno = errno;
    const bool answered =
        info->si_code > 0 && answer(reinterpret_cast<std::uintptr_t>(info->si_addr));
    errno = saved_errno;
    if (answered) return;
    // Not ours: step aside and let the fault repeat under the handler that was there before. Once
    // only: that one may in turn give way to us (faulthandler does), and we must not go in circles.
    const struct sigaction next = previous;
    previous = {};
    previous.sa_handler = SIG_DFL;
    ::sigaction(signal, &next, nullptr);
    if (info->si_code <= 0) ::raise(signal);
  }

  // Called at every mapping: a library that installed its own handler since then (PyTorch does in
  // its data-loader workers) becomes the one we pass foreign faults on to.
  static void install() {
    struct sigaction current = {};
    ::sigaction(SIGBUS, nullptr, &current);
    if ((current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == &handle) return;
    struct sigaction ours = {};
    ours.sa_sigaction = &handle;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&ours.sa_mask);
    previous = current;
    ::sigaction(SIGBUS, &ours, nullptr);
  }
};

FaultGuard::FaultGuard(std::byte* data, std::size_t length, bool writable, int descriptor,
                       const char* name)
    : slot_(FaultHandler::take_slot()) {
  FaultHandler::install();
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  slot_->broken = false;
  slot_->size = length;
  slot_->writable = writable;
  slot_->descriptor = descriptor;
  slot_->name = name;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  slot_->end = begin + (length + page - 1) / page * page;
  slot_->begin = begin;  // last: from here on the handler may use the slot
}

FaultGuard::~FaultGuard() {
  slot_->begin = 0;
  slot_->taken = false;
}

void FaultGuard::check_intact() const { FaultHandler::check_intact(*slot_); }

void FaultGuard::check_intact_at(const void* address) {
  const auto* const slot = FaultHandler::find(reinterpret_cast<std::uintptr_t>(address));
  if (slot != nullptr) FaultHandler::check_intact(*slot);
}

}  // namespace gz
