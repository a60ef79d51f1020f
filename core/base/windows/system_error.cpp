#include "core/base/windows/system_error.h"

#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace gz {

int errno_of(DWORD code) {
  switch (code) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_DRIVE:
    case ERROR_BAD_NETPATH:
    case ERROR_BAD_NET_NAME:
    case ERROR_BAD_PATHNAME:
    case ERROR_INVALID_NAME:
      return ENOENT;
    case ERROR_FILENAME_EXCED_RANGE:
      return ENAMETOOLONG;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
    case ERROR_USER_MAPPED_FILE:
    case ERROR_WRITE_PROTECT:
      return EACCES;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
      return EEXIST;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
      return ENOSPC;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT:
    case ERROR_NO_SYSTEM_RESOURCES:
      return ENOMEM;
    case ERROR_TOO_MANY_OPEN_FILES:
      return EMFILE;
    case ERROR_INVALID_HANDLE:
      return EBADF;
    case ERROR_INVALID_PARAMETER:
    case ERROR_FILE_INVALID:
    case ERROR_MAPPED_ALIGNMENT:
      return EINVAL;
    case ERROR_DIRECTORY:
      return ENOTDIR;
    case ERROR_NOT_SUPPORTED:
    case ERROR_INVALID_FUNCTION:
    case ERROR_CALL_NOT_IMPLEMENTED:
      return ENOSYS;
    case ERROR_NOT_SAME_DEVICE:
      return EXDEV;
    default:
      return EIO;
  }
}

void throw_last_error(const std::string& path, const char* action) {
  throw_error(::GetLastError(), path, action);
}

void throw_error(DWORD code, const std::string& path, const char* action) {
  if (code == ERROR_SHARING_VIOLATION || code == ERROR_LOCK_VIOLATION ||
      code == ERROR_USER_MAPPED_FILE) {
    throw IoError(
        EACCES, path,
        concat("cannot ", action, ": the file is open, here or in another program (Windows error ",
               code, "); close what uses it, or give another name"));
  }
  const int number = errno_of(code);
  throw IoError(
      number, path,
      concat("cannot ", action, ": ", std::strerror(number), " (Windows error ", code, ")"));
}

}  // namespace gz
