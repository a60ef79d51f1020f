#include "core/base/temporary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "core/base/error.h"
#include "core/base/file.h"

namespace gz {

TemporaryFile::~TemporaryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int TemporaryFile::open_once() {
  const int open_already = descriptor_.load(std::memory_order_acquire);
  if (open_already >= 0) return open_already;
  const std::lock_guard lock(mutex_);
  if (descriptor_ >= 0) return descriptor_;
  int descriptor = ::open(folder_.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
  if (descriptor < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
    // Some file systems know no nameless files: make one and take its name away at once.
    std::string path = folder_ + "/.graphzero-XXXXXX";
    descriptor = ::mkostemp(path.data(), O_CLOEXEC);
    if (descriptor >= 0) ::unlink(path.c_str());
  }
  if (descriptor < 0) throw_errno(folder_, "create a temporary file");
  descriptor_.store(descriptor, std::memory_order_release);
  return descriptor;
}

std::uint64_t TemporaryFile::append(std::span<const std::byte> bytes) {
  const int descriptor = open_once();
  const std::uint64_t start = size_.fetch_add(bytes.size());
  write_exact_at(descriptor, bytes, start, folder_);
  return start;
}

void TemporaryFile::will_need(std::uint64_t offset, std::uint64_t length) const {
  ::posix_fadvise(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(length),
                  POSIX_FADV_WILLNEED);
}

void TemporaryFile::read_exact_at(std::span<std::byte> out, std::uint64_t offset) const {
  gz::read_exact_at(descriptor_, out, offset, folder_);
}

}  // namespace gz
