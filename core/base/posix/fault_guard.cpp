#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/fault_slots.h"
#include "core/base/memory_pages.h"

namespace gz {
namespace {

struct sigaction previous = {};

// True if the fault was ours and the access can be tried again.
bool answer(std::uintptr_t address) {
  FaultSlot* const slot = find_fault_slot(address);
  if (slot == nullptr) return false;
  const std::uintptr_t page = machine_page();  // known since the guard was made
  const std::uintptr_t from = address & ~(page - 1);
  std::uintptr_t to = from + page;
  const std::int64_t size = size_of_file(slot->file);
  if (size >= 0 && static_cast<std::uint64_t>(size) <= from - slot->begin.load()) {
    // Everything behind the new end of the file is gone: one signal, not one per page.
    to = slot->end.load();
  }
  const int protection = slot->writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const zeros = ::mmap(reinterpret_cast<void*>(from), to - from, protection,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  if (zeros == MAP_FAILED) return false;
  break_slot(*slot);
  return true;
}

void handle(int signal, siginfo_t* info, void* /*context*/) {
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

}  // namespace

void catch_faults() {
  struct sigaction current = {};
  ::sigaction(SIGBUS, nullptr, &current);
  if ((current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == &handle) return;
  struct sigaction ours = {};
  ours.sa_sigaction = &handle;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  previous = current;
  ::sigaction(SIGBUS, &ours, nullptr);
}

void say_in_handler(const char* text) {
  // One that nobody reads is no reason to stop.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
}

}  // namespace gz
