#include "core/base/atomic_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/error.h"
#include "core/base/posix/sync.h"

namespace gz {

// fsync leaves the bytes in the device's own memory here. Not every file system knows the other.
bool sync_to_device(int descriptor) {
  return ::fcntl(descriptor, F_FULLFSYNC) == 0 || ::fsync(descriptor) == 0;
}

void AtomicFile::start_writeback(std::uint64_t /*offset*/, std::uint64_t /*length*/) {}

bool exchange_names(const std::string& one, const std::string& other) {
  if (::renamex_np(one.c_str(), other.c_str(), RENAME_SWAP) == 0) return true;
  if (errno == EINVAL || errno == ENOTSUP) return false;
  throw_errno(other, "rename into place");
}

}  // namespace gz
