#include "core/base/file_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/base/memory_pages.h"
#include "core/base/posix/resident_pages.h"

namespace gz {
namespace {

// mincore's last parameter is of char here, of unsigned char there.
template <class Page>
Page* pages_for(int (*)(void*, std::size_t, Page*), std::vector<unsigned char>& pages) {
  return reinterpret_cast<Page*>(pages.data());
}
template <class Page>
Page* pages_for(int (*)(const void*, std::size_t, Page*), std::vector<unsigned char>& pages) {
  return reinterpret_cast<Page*>(pages.data());
}

}  // namespace

std::byte* map_file(FileHandle file, std::uint64_t size, bool copy_on_write,
                    const std::string& path) {
  // No reserve: a writable private mapping would otherwise be charged as if every page were
  // written, and a file larger than RAM refused.
  const int flags = copy_on_write ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED;
  const int protection = copy_on_write ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const data = ::mmap(nullptr, size, protection, flags, static_cast<int>(file), 0);
  if (data == MAP_FAILED) throw_errno(path, "map");
  return static_cast<std::byte*>(data);
}

void unmap_file(std::byte* data, std::uint64_t size) noexcept { ::munmap(data, size); }

std::optional<std::uint64_t> resident_pages(std::byte* data, std::uint64_t size) {
  constexpr std::uint64_t kPagesPerCall = 1 << 16;
  std::vector<unsigned char> residency(kPagesPerCall);
  const std::uint64_t step = kPagesPerCall * machine_page();
  std::uint64_t pages = 0;
  for (std::uint64_t offset = 0; offset < size; offset += step) {
    const std::uint64_t length = std::min(step, size - offset);
    if (::mincore(data + offset, length, pages_for(&::mincore, residency)) != 0)
      return std::nullopt;
    const std::uint64_t count = (length + machine_page() - 1) / machine_page();
    pages += static_cast<std::uint64_t>(
        std::count_if(residency.begin(), residency.begin() + static_cast<std::ptrdiff_t>(count),
                      [](unsigned char page) { return (page & 1) != 0; }));
  }
  return pages;
}

}  // namespace gz
