#include "core/base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "core/base/error.h"
#include "core/base/posix/sync.h"

namespace gz {

bool sync_to_device(int descriptor) { return ::fsync(descriptor) == 0; }

void AtomicFile::start_writeback(std::uint64_t offset, std::uint64_t length) {
  ::sync_file_range(static_cast<int>(file_), static_cast<off64_t>(offset),
                    static_cast<off64_t>(length), SYNC_FILE_RANGE_WRITE);
}

bool exchange_names(const std::string& one, const std::string& other) {
  if (::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0)
    return true;
  if (errno == EINVAL || errno == ENOSYS) return false;
  throw_errno(other, "rename into place");
}

}  // namespace gz
