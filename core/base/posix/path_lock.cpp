#include "core/base/path_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/error.h"

namespace gz {
namespace {

// It may have been removed or replaced since it was opened.
bool leads_to(const std::string& path, int descriptor) {
  struct stat here = {}, there = {};
  return ::fstat(descriptor, &here) == 0 && ::stat(path.c_str(), &there) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

}  // namespace

FileHandle PathLock::try_lock(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) throw_errno(path, "lock");
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && leads_to(path, descriptor)) return descriptor;
  ::close(descriptor);
  return kNoFile;
}

void PathLock::release() noexcept {
  if (lock_ == kNoFile) return;
  ::flock(static_cast<int>(lock_), LOCK_UN);  // a child forked meanwhile has the descriptor too
  close_file(lock_);
  lock_ = kNoFile;
}

}  // namespace gz
