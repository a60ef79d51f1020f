#include "core/base/temporary_file.h"

#include <fcntl.h>

#include <cerrno>

#include "core/base/error.h"
#include "core/base/posix/unlinked_file.h"

namespace gz {

FileHandle open_nameless(const std::string& folder) {
  int descriptor = ::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
  if (descriptor < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
    descriptor = open_unlinked(folder);
  if (descriptor < 0) throw_errno(folder, "create a temporary file");
  return descriptor;
}

void read_ahead(FileHandle file, std::uint64_t offset, std::uint64_t length) {
  ::posix_fadvise(static_cast<int>(file), static_cast<off_t>(offset), static_cast<off_t>(length),
                  POSIX_FADV_WILLNEED);
}

}  // namespace gz
