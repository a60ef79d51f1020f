#include "core/base/file_pages.h"

#include <sys/mman.h>

#include <algorithm>

#include "core/base/file.h"
#include "core/base/memory_pages.h"
#include "core/base/posix/resident_pages.h"

namespace gz {

void advise_memory(Advice advice, const std::byte* begin, std::uint64_t length) {
  // Nothing maps pages without a fault: to ask for them is the nearest.
  constexpr int kCodes[] = {MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED,
                            MADV_WILLNEED};
  const std::uint64_t before = reinterpret_cast<std::uintptr_t>(begin) % machine_page();
  ::madvise(const_cast<std::byte*>(begin) - before, length + before,
            kCodes[static_cast<std::size_t>(advice)]);
}

void begin_preload(FileHandle /*file*/, std::byte* data, std::uint64_t size) {
  ::madvise(data, size, MADV_SEQUENTIAL);
}

void end_preload(std::byte* data, std::uint64_t size) { ::madvise(data, size, MADV_NORMAL); }

bool populate(std::byte* /*data*/, std::uint64_t /*length*/) { return false; }

// Nothing takes pages of a file away without a mapping of it.
void drop_cached(FileHandle /*file*/, std::uint64_t /*offset*/, std::uint64_t /*length*/) {}

std::optional<std::uint64_t> cached_bytes(FileHandle /*file*/, std::byte* data,
                                          std::uint64_t offset, std::uint64_t length,
                                          const std::string& /*path*/) {
  const std::uint64_t before = offset % machine_page();
  const auto pages = resident_pages(data + offset - before, length + before);
  if (!pages) return std::nullopt;
  return std::min(*pages * machine_page(), length);
}

}  // namespace gz
