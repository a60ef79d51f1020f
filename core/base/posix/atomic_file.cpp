#include "core/base/atomic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "core/base/error.h"
#include "core/base/path.h"
#include "core/base/posix/sync.h"
#include "core/base/temporary_name.h"

namespace gz {
namespace {

// A temporary file, or a folder of such files, that is not locked belongs to a process that died.
void remove_stale(const std::string& path) {
  const std::string folder = folder_of(path);
  DIR* const directory = ::opendir(folder.c_str());
  if (directory == nullptr) return;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (!is_temporary_name(name, path)) continue;
    const std::string stale = concat(folder, "/", name);
    const int descriptor = ::open(stale.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) continue;
    std::error_code ignored;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) std::filesystem::remove_all(stale, ignored);
    ::close(descriptor);
  }
  ::closedir(directory);
}

// Locks a file that was just made. False if another writer of the target took it for a leftover, in
// the moment before, and removes it or has done so.
bool is_ours(int descriptor) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat status = {};
  return ::fstat(descriptor, &status) != 0 || status.st_nlink > 0;
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  struct stat status = {};
  if (::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode))
      throw IoError(EISDIR, path_, "is a directory, expected a file to write");
    // A rename would put a file in the place of a device that all programs use, such as /dev/null.
    throw IoError(EINVAL, path_, "is a device, pipe or socket, expected a file to write");
  }
  remove_stale(path_);
  int descriptor = -1;
  do {
    if (descriptor >= 0) ::close(descriptor);
    temporary_ = temporary_path(path_);
    descriptor = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) throw_errno(path_, "create");
  } while (!is_ours(descriptor));
  file_ = descriptor;
}

AtomicFile::~AtomicFile() {
  if (file_ == kNoFile) return;
  ::unlink(temporary_.c_str());
  close_file(file_);
}

void AtomicFile::resize(std::uint64_t size) {
  if (::ftruncate(static_cast<int>(file_), static_cast<off_t>(size)) != 0)
    throw_errno(path_, "resize");
}

void AtomicFile::commit() {
  if (!sync_to_device(static_cast<int>(file_))) throw_errno(path_, "sync");
  commit_unsynced();
  sync_folder(folder_of(path_));  // the rename itself must survive a power cut too
}

void sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  sync_to_device(descriptor);
  ::close(descriptor);
}

void AtomicFile::commit_unsynced() {
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw_errno(path_, "rename into place");
  close_file(file_);
  file_ = kNoFile;
}

}  // namespace gz
