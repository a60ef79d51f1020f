#include "core/base/memory_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace gz {

std::size_t machine_page() {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return page;
}

void* map_memory(std::size_t bytes) {
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : 0;
  const std::size_t mapped_bytes = bytes + alignment;
  void* const mapped =
      ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  if (alignment == 0) return mapped;
  const auto begin = reinterpret_cast<std::uintptr_t>(mapped);
  const std::uintptr_t data = (begin + alignment - 1) / alignment * alignment;
  if (data > begin) ::munmap(mapped, data - begin);
  if (data < begin + alignment)
    ::munmap(reinterpret_cast<void*>(data + bytes), begin + alignment - data);
#ifdef MADV_HUGEPAGE
  // Random access without misses of the TLB.
  ::madvise(reinterpret_cast<void*>(data), bytes, MADV_HUGEPAGE);
#endif
  return reinterpret_cast<void*>(data);
}

void unmap_memory(void* data, std::size_t bytes) noexcept { ::munmap(data, bytes); }

void trim_heap() noexcept {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace gz
