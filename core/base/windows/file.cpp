#include "core/base/file.h"

#include <windows.h>

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"
#include "core/base/windows/system_error.h"
#include "core/base/windows/wide_text.h"

namespace gz {
namespace {

// Handles are open for overlapped calls, or threads that share one would wait for each other. So a
// call that is to block needs something to wait for.
class Event {
 public:
  Event() : handle_(::CreateEventW(nullptr, TRUE, FALSE, nullptr)) {}
  ~Event() { ::CloseHandle(handle_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  HANDLE handle() const { return handle_; }

 private:
  HANDLE handle_;
};

// A multiple of all blocks, and it fits into 32 bits.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

template <class Call>
std::int64_t transfer(FileHandle file, std::size_t size, std::uint64_t offset,
                      const Call& call) noexcept {
  thread_local const Event event;
  OVERLAPPED where = {};
  where.Offset = static_cast<DWORD>(offset);
  where.OffsetHigh = static_cast<DWORD>(offset >> 32);
  where.hEvent = event.handle();
  DWORD moved = 0;
  const BOOL begun = call(static_cast<DWORD>(std::min(size, kMostAtOnce)), &where);
  if (!begun && ::GetLastError() != ERROR_IO_PENDING) {
    return ::GetLastError() == ERROR_HANDLE_EOF ? 0 : -errno_of(::GetLastError());
  }
  if (::GetOverlappedResult(as_handle(file), &where, &moved, TRUE)) return moved;
  return ::GetLastError() == ERROR_HANDLE_EOF ? 0 : -errno_of(::GetLastError());
}

}  // namespace

std::int64_t read_some_at(FileHandle file, std::span<std::byte> out,
                          std::uint64_t offset) noexcept {
  return transfer(file, out.size(), offset, [&](DWORD size, OVERLAPPED* where) {
    return ::ReadFile(as_handle(file), out.data(), size, nullptr, where);
  });
}

std::int64_t write_some_at(FileHandle file, std::span<const std::byte> bytes,
                           std::uint64_t offset) noexcept {
  return transfer(file, bytes.size(), offset, [&](DWORD size, OVERLAPPED* where) {
    return ::WriteFile(as_handle(file), bytes.data(), size, nullptr, where);
  });
}

std::int64_t size_of_file(FileHandle file) noexcept {
  LARGE_INTEGER size = {};
  return ::GetFileSizeEx(as_handle(file), &size) ? size.QuadPart : -errno_of(::GetLastError());
}

void close_file(FileHandle file) noexcept { ::CloseHandle(as_handle(file)); }

File::File(std::string path) : path_(std::move(path)) {
  const std::wstring name = wide_path(path_);
  handle_ = as_file(::CreateFileW(name.c_str(), GENERIC_READ,
                                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                  OPEN_EXISTING, FILE_FLAG_OVERLAPPED, nullptr));
  if (handle_ == kNoFile) {
    const DWORD code = ::GetLastError();
    const DWORD attributes = ::GetFileAttributesW(name.c_str());
    if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0)
      throw IoError(EISDIR, path_, "is a directory, expected a file");
    throw_error(code, path_, "open");
  }
  try {
    if (::GetFileType(as_handle(handle_)) != FILE_TYPE_DISK)
      throw IoError(EINVAL, path_, "is not a regular file, so it cannot be mapped");
    const std::int64_t size = size_of_file(handle_);
    if (size < 0) throw_last_error(path_, "stat");
    size_ = static_cast<std::uint64_t>(size);
  } catch (...) {
    close_file(handle_);
    throw;
  }
}

File::~File() { close_file(handle_); }

std::uint64_t File::modified_ns() const {
  FILETIME time = {};
  if (!::GetFileTime(as_handle(handle_), nullptr, nullptr, &time)) throw_last_error(path_, "stat");
  // In units of 100 ns since 1601.
  constexpr std::uint64_t kFrom1601To1970 = 116'444'736'000'000'000;
  const std::uint64_t ticks = std::uint64_t{time.dwHighDateTime} << 32 | time.dwLowDateTime;
  return (ticks - kFrom1601To1970) * 100;
}

}  // namespace gz
