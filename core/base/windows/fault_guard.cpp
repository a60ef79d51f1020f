#include <windows.h>

#include <atomic>
#include <cstring>

#include "core/base/fault_slots.h"
#include "core/base/memory_pages.h"

namespace gz {
namespace {

std::atomic_flag answering = ATOMIC_FLAG_INIT;

class Turn {
 public:
  Turn() {
    while (answering.test_and_set(std::memory_order_acquire)) ::SwitchToThread();
  }
  ~Turn() { answering.clear(std::memory_order_release); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
};

// Pages of a view cannot be exchanged one by one: the first fault puts reserved memory in the place
// of the whole view, and every page that is read is then committed, which makes it zeros. A thread
// that comes in between finds nothing there, and waits here for its turn.
bool answer(FaultSlot& slot, std::uintptr_t address) {
  const Turn turn;
  void* const begin = reinterpret_cast<void*>(slot.begin.load());
  MEMORY_BASIC_INFORMATION info = {};
  if (::VirtualQuery(begin, &info, sizeof info) == 0) return false;
  if (info.Type == MEM_MAPPED) {
    const std::size_t bytes = slot.end.load() - slot.begin.load();
    if (!::UnmapViewOfFile(begin)) return false;
    if (::VirtualAlloc(begin, bytes, MEM_RESERVE, PAGE_READWRITE) != begin) return false;
  }
  const std::uintptr_t page = address / machine_page() * machine_page();
  if (::VirtualAlloc(reinterpret_cast<void*>(page), machine_page(), MEM_COMMIT,
                     slot.writable ? PAGE_READWRITE : PAGE_READONLY) == nullptr) {
    return false;
  }
  break_slot(slot);
  return true;
}

LONG CALLBACK handle(EXCEPTION_POINTERS* pointers) {
  const EXCEPTION_RECORD& fault = *pointers->ExceptionRecord;
  if (fault.ExceptionCode != EXCEPTION_IN_PAGE_ERROR &&
      fault.ExceptionCode != EXCEPTION_ACCESS_VIOLATION) {
    return EXCEPTION_CONTINUE_SEARCH;
  }
  if (fault.NumberParameters < 2) return EXCEPTION_CONTINUE_SEARCH;
  constexpr ULONG_PTR kRead = 0, kWrite = 1;
  const ULONG_PTR access = fault.ExceptionInformation[0];
  const auto address = static_cast<std::uintptr_t>(fault.ExceptionInformation[1]);
  FaultSlot* const slot = find_fault_slot(address);
  const bool is_ours = slot != nullptr && (access == kRead || (access == kWrite && slot->writable));
  return is_ours && answer(*slot, address) ? EXCEPTION_CONTINUE_EXECUTION
                                           : EXCEPTION_CONTINUE_SEARCH;
}

}  // namespace

// Handlers form a list here, so nobody takes our place.
void catch_faults() {
  [[maybe_unused]] static void* const registered = ::AddVectoredExceptionHandler(1, &handle);
}

void say_in_handler(const char* text) {
  DWORD written = 0;
  ::WriteFile(::GetStdHandle(STD_ERROR_HANDLE), text, static_cast<DWORD>(std::strlen(text)),
              &written, nullptr);
}

}  // namespace gz
