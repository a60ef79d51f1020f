#include "core/base/file_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/memory_pages.h"
#include "core/base/posix/resident_pages.h"

namespace gz {

void advise_memory(Advice advice, const std::byte* begin, std::uint64_t length) {
  constexpr int kCodes[] = {MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED,
                            MADV_POPULATE_READ};
  const std::uint64_t before = reinterpret_cast<std::uintptr_t>(begin) % machine_page();
  ::madvise(const_cast<std::byte*>(begin) - before, length + before,
            kCodes[static_cast<std::size_t>(advice)]);
}

void begin_preload(FileHandle file, std::byte* data, std::uint64_t size) {
  ::posix_fadvise(static_cast<int>(file), 0, 0, POSIX_FADV_DONTNEED);
  ::madvise(data, size, MADV_HUGEPAGE);
}

void end_preload(std::byte* data, std::uint64_t size) {
  ::madvise(data, size, MADV_NOHUGEPAGE);  // what is read again is read page by page
}

// Kernels before 5.14 cannot.
bool populate(std::byte* data, std::uint64_t length) {
  return ::madvise(data, length, MADV_POPULATE_READ) == 0;
}

void drop_cached(FileHandle file, std::uint64_t offset, std::uint64_t length) {
  ::posix_fadvise(static_cast<int>(file), static_cast<off_t>(offset), static_cast<off_t>(length),
                  POSIX_FADV_DONTNEED);
}

namespace {

// Linux 6.5's cachestat: its cost grows with what is cached, not with the size of the file.
std::optional<std::uint64_t> cached_pages(int descriptor, std::uint64_t offset,
                                          std::uint64_t length) {
  constexpr long kCachestat = 451;
  struct Range {
    std::uint64_t offset;
    std::uint64_t length;  // 0: to the end
  } range = {offset, length};
  struct Counts {
    std::uint64_t cached, dirty, in_writeback, evicted, recently_evicted;
  } counts = {};
  if (::syscall(kCachestat, descriptor, &range, &counts, 0) != 0) return std::nullopt;
  return counts.cached;
}

}  // namespace

std::optional<std::uint64_t> cached_bytes(FileHandle file, std::byte* data, std::uint64_t offset,
                                          std::uint64_t length, const std::string& path) {
  const int descriptor = static_cast<int>(file);
  auto pages = cached_pages(descriptor, offset, length);
  if (!pages) {
    if (errno == EPERM) return std::nullopt;
    // The kernel answers mincore for files of others with "all resident", to close a side channel.
    struct stat status = {};
    if (::fstat(descriptor, &status) != 0) throw_errno(path, "stat");
    if (status.st_uid != ::geteuid() && ::geteuid() != 0 &&
        ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
      return std::nullopt;
    }
    const std::uint64_t before = offset % machine_page();
    pages = resident_pages(data + offset - before, length + before);
  }
  if (!pages) return std::nullopt;
  return std::min(*pages * machine_page(), length);
}

}  // namespace gz
