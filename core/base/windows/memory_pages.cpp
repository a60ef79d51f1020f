#include "core/base/memory_pages.h"

#include <malloc.h>
#include <windows.h>

#include <new>

namespace gz {

std::size_t machine_page() {
  static const std::size_t page = [] {
    SYSTEM_INFO info = {};
    ::GetSystemInfo(&info);
    return std::size_t{info.dwPageSize};
  }();
  return page;
}

// Large pages need a privilege that users do not have.
void* map_memory(std::size_t bytes) {
  void* const data = ::VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

void unmap_memory(void* data, std::size_t /*bytes*/) noexcept {
  ::VirtualFree(data, 0, MEM_RELEASE);
}

void trim_heap() noexcept { ::_heapmin(); }

}  // namespace gz
