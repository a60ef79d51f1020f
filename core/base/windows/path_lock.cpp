#include "core/base/path_lock.h"

#include <windows.h>

#include "core/base/error.h"
#include "core/base/windows/system_error.h"
#include "core/base/windows/wide_text.h"

namespace gz {

// Folders cannot be locked, and an open one could not be renamed. So the lock is an object of the
// system with the number of the file as its name: it goes with its last handle.
FileHandle PathLock::try_lock(const std::string& path) {
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
  const std::string name = concat("Global\\graphzero-", info.dwVolumeSerialNumber, "-",
                                  info.nFileIndexHigh, "-", info.nFileIndexLow);
  const HANDLE lock =
      ::CreateEventW(nullptr, FALSE, FALSE, std::wstring(name.begin(), name.end()).c_str());
  // One of another user can be seen, but not opened.
  if (lock == nullptr) return kNoFile;
  if (::GetLastError() != ERROR_ALREADY_EXISTS) return as_file(lock);
  ::CloseHandle(lock);
  return kNoFile;
}

void PathLock::release() noexcept {
  if (lock_ == kNoFile) return;
  close_file(lock_);
  lock_ = kNoFile;
}

}  // namespace gz
