#include "core/base/atomic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <random>
#include <string_view>

#include "core/base/error.h"
#include "core/base/file.h"

namespace gz {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

namespace {

std::string name_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

constexpr std::string_view kSuffix = ".graphzero-tmp";

std::string temporary_prefix(const std::string& path) { return concat(".", name_of(path), "."); }

// A temporary file that is not locked belongs to a process that died.
void remove_stale(const std::string& path) {
  const std::string folder = folder_of(path);
  const std::string prefix = temporary_prefix(path);
  DIR* const directory = ::opendir(folder.c_str());
  if (directory == nullptr) return;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(prefix) || !name.ends_with(kSuffix)) continue;
    // What lies between must be our random part alone: ".a.gl.X" is not a leftover of ".a".
    if (name.size() != prefix.size() + 16 + kSuffix.size()) continue;
    const std::string stale = concat(folder, "/", name);
    const int descriptor = ::open(stale.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) continue;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(stale.c_str());
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

std::string random_name_part() {
  std::random_device entropy;
  const std::uint64_t bits = std::uint64_t{entropy()} << 32 | entropy();
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = kDigits[bits >> (4 * i) & 15];
  return text;
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  struct stat status = {};
  if (::stat(path_.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    throw IoError(EISDIR, path_, "is a directory, expected a file to write");
  }
  remove_stale(path_);
  do {
    if (descriptor_ >= 0) ::close(descriptor_);
    temporary_ =
        concat(folder_of(path_), "/", temporary_prefix(path_), random_name_part(), kSuffix);
    descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0) throw_errno(path_, "create");
  } while (!is_ours(descriptor_));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::unlink(temporary_.c_str());
  ::close(descriptor_);
}

void AtomicFile::write_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  write_exact_at(descriptor_, bytes, offset, path_);
}

void AtomicFile::read_at(std::span<std::byte> out, std::uint64_t offset) const {
  read_exact_at(descriptor_, out, offset, path_);
}

void AtomicFile::start_writeback(std::uint64_t offset, std::uint64_t length) {
  ::sync_file_range(descriptor_, static_cast<off64_t>(offset), static_cast<off64_t>(length),
                    SYNC_FILE_RANGE_WRITE);
}

void AtomicFile::resize(std::uint64_t size) {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) throw_errno(path_, "resize");
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) throw_errno(path_, "sync");
  commit_unsynced();
  // The rename itself must survive a power cut too; a folder that cannot be synced is no error.
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

bool exchange_names(const std::string& one, const std::string& other) {
  if (::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0)
    return true;
  if (errno == EINVAL || errno == ENOSYS) return false;
  throw_errno(other, "rename into place");
}

void AtomicFile::commit_unsynced() {
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw_errno(path_, "rename into place");
  ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace gz
