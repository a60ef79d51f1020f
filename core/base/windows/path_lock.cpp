#include "core/base/path_lock.h"

#include <windows.h>

#include "core/base/error.h"
#include "core/base/windows/system_error.h"
#include "core/base/windows/wide_text.h"

namespace gz {
namespace {

// What tells a file or folder from all others, whatever its name is; a link from what it leads to.
struct Identity {
  DWORD volume = 0;
  DWORD high = 0;
  DWORD low = 0;

  bool operator==(const Identity&) const = default;
};

Identity identity_of(const std::string& path) {
  const HANDLE file =
      ::CreateFileW(wide_path(path).c_str(), FILE_READ_ATTRIBUTES,
                    FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr, OPEN_EXISTING,
                    FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, nullptr);
  if (file == INVALID_HANDLE_VALUE) throw_last_error(path, "lock");
  BY_HANDLE_FILE_INFORMATION info = {};
  const BOOL known = ::GetFileInformationByHandle(file, &info);
  const DWORD code = ::GetLastError();
  ::CloseHandle(file);
  if (!known) throw_error(code, path, "lock");
  return {info.dwVolumeSerialNumber, info.nFileIndexHigh, info.nFileIndexLow};
}

// It may have been removed or replaced since it was looked at.
bool leads_to(const std::string& path, const Identity& identity) {
  try {
    return identity_of(path) == identity;
  } catch (const IoError&) {
    return false;
  }
}

}  // namespace

// Folders cannot be locked, and an open one could not be renamed. So the lock is an object of the
// system with the number of the file as its name: it goes with its last handle.
FileHandle PathLock::try_lock(const std::string& path) {
  const Identity identity = identity_of(path);
  const std::string name =
      concat("Global\\graphzero-", identity.volume, "-", identity.high, "-", identity.low);
  const std::wstring wide_name(name.begin(), name.end());
  const HANDLE lock = ::CreateEventW(nullptr, FALSE, FALSE, wide_name.c_str());
  const DWORD code = ::GetLastError();
  if (lock == nullptr) {
    // One of another user can be seen, but not opened.
    if (code == ERROR_ACCESS_DENIED || code == ERROR_SHARING_VIOLATION) return kNoFile;
    throw_error(code, path, "lock");
  }
  if (code != ERROR_ALREADY_EXISTS && leads_to(path, identity)) return as_file(lock);
  ::CloseHandle(lock);
  return kNoFile;
}

void PathLock::release() noexcept {
  if (lock_ == kNoFile) return;
  close_file(lock_);
  lock_ = kNoFile;
}

}  // namespace gz
