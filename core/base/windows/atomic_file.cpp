#include "core/base/atomic_file.h"

#include <windows.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "core/base/error.h"
#include "core/base/path.h"
#include "core/base/path_lock.h"
#include "core/base/temporary_name.h"
#include "core/base/windows/system_error.h"
#include "core/base/windows/wide_text.h"

namespace gz {
namespace {

bool is_folder(const std::wstring& name) {
  const DWORD attributes = ::GetFileAttributesW(name.c_str());
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

// Calls `visit` with the name and the attributes of each entry of a folder.
template <class Visit>
void for_each_entry(const std::string& folder, Visit visit) {
  WIN32_FIND_DATAW found = {};
  const HANDLE search = ::FindFirstFileW(wide_path(concat(folder, "/*")).c_str(), &found);
  if (search == INVALID_HANDLE_VALUE) return;
  do {
    visit(utf8(found.cFileName), found.dwFileAttributes);
  } while (::FindNextFileW(search, &found));
  ::FindClose(search);
}

// Removes a file, or a folder with all that is in it; of a link, the link. What is open stays.
void remove_tree(const std::string& path, DWORD attributes) {
  if ((attributes & FILE_ATTRIBUTE_DIRECTORY) == 0) {
    ::DeleteFileW(wide_path(path).c_str());
    return;
  }
  if ((attributes & FILE_ATTRIBUTE_REPARSE_POINT) == 0) {
    for_each_entry(path, [&](const std::string& name, DWORD inner) {
      if (name != "." && name != "..") remove_tree(concat(path, "/", name), inner);
    });
  }
  ::RemoveDirectoryW(wide_path(path).c_str());
}

// Whether nobody has locked it; what cannot be asked is taken for locked.
bool is_unlocked(const std::string& path) {
  try {
    return PathLock(path, false).is_held();
  } catch (const IoError&) {
    return false;
  }
}

// A temporary file, or a folder of such files, that is not locked belongs to a process that died.
// The file of a living AtomicFile has no lock, but its handle shares it with nobody who deletes.
void remove_stale(const std::string& path) {
  const std::string folder = folder_of(path);
  for_each_entry(folder, [&](const std::string& name, DWORD attributes) {
    const std::string stale = concat(folder, "/", name);
    if (is_temporary_name(name, path) && is_unlocked(stale)) remove_tree(stale, attributes);
  });
}

// FILE_RENAME_INFO, whose name is as long as it needs to be; older headers do not have the flags.
std::vector<std::byte> rename_request(DWORD flags, const std::wstring& target) {
  const std::size_t name_bytes = target.size() * sizeof(wchar_t);
  std::vector<std::byte> request(sizeof(FILE_RENAME_INFO) + name_bytes);
  auto* const info = reinterpret_cast<FILE_RENAME_INFO*>(request.data());
  std::memcpy(request.data(), &flags, sizeof flags);
  info->FileNameLength = static_cast<DWORD>(name_bytes);
  std::memcpy(info->FileName, target.data(), name_bytes);
  return request;
}

// The way of Windows 10, which replaces a file that others have open for reading, as POSIX does,
// and the older one for file systems that do not know it. By its handle, so that nobody can take it
// for a leftover in between.
bool rename_open(HANDLE file, const std::wstring& target) {
  constexpr auto kRenameEx = static_cast<FILE_INFO_BY_HANDLE_CLASS>(22);
  constexpr DWORD kReplace = 1, kPosix = 2;
  const auto rename = [&](FILE_INFO_BY_HANDLE_CLASS how, DWORD flags) {
    auto request = rename_request(flags, target);
    return ::SetFileInformationByHandle(file, how, request.data(),
                                        static_cast<DWORD>(request.size())) != 0;
  };
  return rename(kRenameEx, kReplace | kPosix) || rename(FileRenameInfo, kReplace);
}

// A virus scanner looks at new files for a moment, and keeps others from them meanwhile. Names that
// Python changes are tried again as long (_files/renames.py).
bool may_pass(DWORD code) {
  return code == ERROR_SHARING_VIOLATION || code == ERROR_ACCESS_DENIED ||
         code == ERROR_USER_MAPPED_FILE;
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  if (is_folder(wide_path(path_)))
    throw IoError(EISDIR, path_, "is a directory, expected a file to write");
  remove_stale(path_);
  temporary_ = temporary_path(path_);
  file_ =
      as_file(::CreateFileW(wide_path(temporary_).c_str(), GENERIC_READ | GENERIC_WRITE | DELETE,
                            FILE_SHARE_READ, nullptr, CREATE_NEW, FILE_FLAG_OVERLAPPED, nullptr));
  if (file_ == kNoFile) throw_last_error(path_, "create");
}

AtomicFile::~AtomicFile() {
  if (file_ == kNoFile) return;
  FILE_DISPOSITION_INFO remove = {};
  remove.DeleteFile = TRUE;
  ::SetFileInformationByHandle(as_handle(file_), FileDispositionInfo, &remove, sizeof remove);
  close_file(file_);
}

// The system writes when it sees fit.
void AtomicFile::start_writeback(std::uint64_t /*offset*/, std::uint64_t /*length*/) {}

void AtomicFile::resize(std::uint64_t size) {
  FILE_END_OF_FILE_INFO end = {};
  end.EndOfFile.QuadPart = static_cast<LONGLONG>(size);
  if (!::SetFileInformationByHandle(as_handle(file_), FileEndOfFileInfo, &end, sizeof end))
    throw_last_error(path_, "resize");
}

// NTFS keeps a journal of names.
void sync_folder(const std::string& /*folder*/) {}

void AtomicFile::commit() {
  if (!::FlushFileBuffers(as_handle(file_))) throw_last_error(path_, "sync");
  commit_unsynced();
}

void AtomicFile::commit_unsynced() {
  const std::wstring target = wide_path(path_);
  constexpr int kTries = 100;
  for (int attempt = 1; !rename_open(as_handle(file_), target); ++attempt) {
    const DWORD code = ::GetLastError();
    if (!may_pass(code)) throw_error(code, path_, "rename into place");
    if (attempt == kTries) {
      throw IoError(EACCES, path_,
                    concat("cannot replace it: the file is open or mapped, here or in another "
                           "program (Windows error ",
                           code, "); close what uses it, or write to another name"));
    }
    ::Sleep(20);
  }
  close_file(file_);
  file_ = kNoFile;
}

// There is no such call.
bool exchange_names(const std::string& one, const std::string& other) {
  for (const std::string& path : {one, other}) {
    if (::GetFileAttributesW(wide_path(path).c_str()) == INVALID_FILE_ATTRIBUTES)
      throw_last_error(path, "rename into place");
  }
  return false;
}

}  // namespace gz
