#include "core/base/direct_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "core/base/types.h"

namespace gz {
namespace {

// O_DIRECT beyond POSIX: <fcntl.h> names it only for _GNU_SOURCE, which g++ always defines.
constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_DIRECT;

[[noreturn]] void refuse(const std::string& path, const char* why) {
  throw IoError(EINVAL, path, concat("cannot be read past the page cache: ", why));
}

// Linux 6.1 tells (STATX_DIOALIGN); the fields are named by position because older headers lack
// them. 4096 suits every device where it does not tell.
std::uint64_t alignment_of(int descriptor, const std::string& path) {
  constexpr unsigned kDirectAlignment = 0x2000;
  constexpr std::size_t kMemoryAt = 0x98;
  constexpr std::size_t kOffsetAt = 0x9c;
  alignas(8) std::array<std::byte, 256> answer{};
  if (::syscall(__NR_statx, descriptor, "", AT_EMPTY_PATH, kDirectAlignment, answer.data()) != 0)
    return kPage;
  const auto field = [&](std::size_t at) {
    std::uint32_t value;
    std::memcpy(&value, answer.data() + at, sizeof value);
    return value;
  };
  if ((field(0) & kDirectAlignment) == 0) return kPage;
  const std::uint32_t alignment = std::max(field(kMemoryAt), field(kOffsetAt));
  if (field(kOffsetAt) == 0) refuse(path, "its file system does not allow it for this file");
  return std::bit_ceil(alignment);
}

bool is_in_memory(int descriptor) {
  struct statfs status = {};
  return ::fstatfs(descriptor, &status) == 0 &&
         (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC);
}

// The name in /proc leads to the file itself, even if it was renamed or unlinked. Without /proc the
// path must still lead there.
int open_again(const File& file) {
  const std::string name = concat("/proc/self/fd/", file.handle());
  const int through_proc = ::open(name.c_str(), kFlags);
  if (through_proc >= 0 || errno != ENOENT) return through_proc;
  const int descriptor = ::open(file.path().c_str(), kFlags);
  if (descriptor < 0) return descriptor;
  struct stat here = {}, there = {};
  if (::fstat(descriptor, &here) == 0 && ::fstat(static_cast<int>(file.handle()), &there) == 0 &&
      here.st_dev == there.st_dev && here.st_ino == there.st_ino) {
    return descriptor;
  }
  ::close(descriptor);
  errno = ESTALE;
  return -1;
}

}  // namespace

void DirectFile::open(const File& file) {
  const int descriptor = static_cast<int>(file.handle());
  if (is_in_memory(descriptor)) refuse(path_, "it lies in memory (tmpfs)");
  alignment_ = alignment_of(descriptor, path_);
  const int again = open_again(file);
  if (again < 0) throw_errno(path_, "open it past the page cache");
  handle_ = again;
  struct stat status = {};
  if (::fstat(again, &status) != 0) throw_errno(path_, "look at");
  device_ = status.st_dev;
  has_holes_ = status.st_blocks * 512 < status.st_size;
}

}  // namespace gz
