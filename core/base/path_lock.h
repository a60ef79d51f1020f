// A lock that processes of one machine share, on a file or folder.
#pragma once

#include <string>

#include "core/base/file_handle.h"

namespace gz {

// Keeps out others that lock the same file or folder, in this process or another; reading and
// writing it is not theirs to forbid. It ends with the process, however that ends.
class PathLock {
 public:
  // Takes it if nobody has it, or waits for it, as long as nobody presses Ctrl-C. What is locked is
  // what `path` leads to then; a link is not followed. Without `wait`, what is not there is not
  // locked; with it, IoError is thrown.
  PathLock(const std::string& path, bool wait);
  ~PathLock() { release(); }
  PathLock(const PathLock&) = delete;
  PathLock& operator=(const PathLock&) = delete;

  bool is_held() const { return lock_ != kNoFile; }
  void release() noexcept;

 private:
  // kNoFile if another one has it. Throws IoError if the path cannot be opened.
  static FileHandle try_lock(const std::string& path);

  FileHandle lock_ = kNoFile;
};

}  // namespace gz
