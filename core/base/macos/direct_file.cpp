#include "core/base/direct_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/error.h"
#include "core/base/types.h"

namespace gz {

// F_NOCACHE holds for an open file, not for a descriptor: a copy of the descriptor would take the
// page cache from the mapping too. So the path must still lead to the file.
void DirectFile::open(const File& file) {
  const int again = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (again < 0) throw_errno(path_, "open it past the page cache");
  handle_ = again;
  struct stat here = {}, there = {};
  if (::fstat(again, &here) != 0 || ::fstat(static_cast<int>(file.handle()), &there) != 0)
    throw_errno(path_, "look at");
  if (here.st_dev != there.st_dev || here.st_ino != there.st_ino) {
    throw IoError(ESTALE, path_,
                  "cannot be read past the page cache: its path leads to another file by now");
  }
  if (::fcntl(again, F_NOCACHE, 1) != 0) throw_errno(path_, "read it past the page cache");
  alignment_ = kPage;
  device_ = static_cast<std::uint64_t>(here.st_dev);
  has_holes_ = here.st_blocks * 512 < here.st_size;
}

}  // namespace gz
