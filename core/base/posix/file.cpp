#include "core/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"

namespace gz {
namespace {

// A multiple of all blocks; macOS refuses what does not fit into 31 bits.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

struct stat status_of(FileHandle file, const std::string& path) {
  struct stat status = {};
  if (::fstat(static_cast<int>(file), &status) != 0) throw_errno(path, "stat");
  return status;
}

}  // namespace

std::int64_t read_some_at(FileHandle file, std::span<std::byte> out,
                          std::uint64_t offset) noexcept {
  const std::size_t size = std::min(out.size(), kMostAtOnce);
  while (true) {
    const ssize_t count =
        ::pread(static_cast<int>(file), out.data(), size, static_cast<off_t>(offset));
    if (count >= 0) return count;
    if (errno != EINTR) return -errno;
  }
}

std::int64_t write_some_at(FileHandle file, std::span<const std::byte> bytes,
                           std::uint64_t offset) noexcept {
  const std::size_t size = std::min(bytes.size(), kMostAtOnce);
  while (true) {
    const ssize_t count =
        ::pwrite(static_cast<int>(file), bytes.data(), size, static_cast<off_t>(offset));
    if (count >= 0) return count;
    if (errno != EINTR) return -errno;
  }
}

std::int64_t size_of_file(FileHandle file) noexcept {
  struct stat status = {};
  return ::fstat(static_cast<int>(file), &status) == 0 ? status.st_size : -errno;
}

void close_file(FileHandle file) noexcept { ::close(static_cast<int>(file)); }

File::File(std::string path) : path_(std::move(path)) {
  // Without O_NONBLOCK a named pipe would block here for ever; regular files ignore it.
  handle_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (handle_ < 0) throw_errno(path_, "open");
  try {
    const struct stat status = status_of(handle_, path_);
    if (S_ISDIR(status.st_mode)) {
      throw IoError(EISDIR, path_, "is a directory, expected a file");
    }
    if (!S_ISREG(status.st_mode))
      throw IoError(EINVAL, path_, "is not a regular file, so it cannot be mapped");
    size_ = static_cast<std::uint64_t>(status.st_size);
  } catch (...) {
    close_file(handle_);
    throw;
  }
}

File::~File() { close_file(handle_); }

std::uint64_t File::modified_ns() const {
  const struct stat status = status_of(handle_, path_);
#ifdef __APPLE__
  const struct timespec time = status.st_mtimespec;
#else
  const struct timespec time = status.st_mtim;
#endif
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace gz
