#include "core/base/file_pages.h"

#include <windows.h>

#include <cerrno>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/windows/system_error.h"

namespace gz {

std::byte* map_file(FileHandle file, std::uint64_t size, bool copy_on_write,
                    const std::string& path) {
  // A section may not be larger than its file.
  const std::int64_t now = size_of_file(file);
  if (now >= 0 && static_cast<std::uint64_t>(now) < size) {
    throw IoError(
        EIO, path,
        concat("the file shrank before it was mapped: expected ", size, " bytes, found ", now));
  }
  const HANDLE section =
      ::CreateFileMappingW(as_handle(file), nullptr, copy_on_write ? PAGE_WRITECOPY : PAGE_READONLY,
                           static_cast<DWORD>(size >> 32), static_cast<DWORD>(size), nullptr);
  if (section == nullptr) throw_last_error(path, "map");
  void* const data =
      ::MapViewOfFile(section, copy_on_write ? FILE_MAP_COPY : FILE_MAP_READ, 0, 0, size);
  const DWORD code = ::GetLastError();
  ::CloseHandle(section);  // the view keeps it
  if (data == nullptr) throw_error(code, path, "map");
  return static_cast<std::byte*>(data);
}

// The handler of faults may have put zeros in the place of the view.
void unmap_file(std::byte* data, std::uint64_t /*size*/) noexcept {
  if (!::UnmapViewOfFile(data)) ::VirtualFree(data, 0, MEM_RELEASE);
}

namespace {

void prefetch_pages(const std::byte* begin, std::uint64_t length) {
  WIN32_MEMORY_RANGE_ENTRY range = {const_cast<std::byte*>(begin), length};
  ::PrefetchVirtualMemory(::GetCurrentProcess(), 1, &range, 0);
}

}  // namespace

// How a range is going to be read cannot be said of a view.
void advise_memory(Advice advice, const std::byte* begin, std::uint64_t length) {
  if (advice == Advice::kWillNeed || advice == Advice::kPopulate) prefetch_pages(begin, length);
}

void begin_preload(FileHandle /*file*/, std::byte* /*data*/, std::uint64_t /*size*/) {}
void end_preload(std::byte* /*data*/, std::uint64_t /*size*/) {}

// Brings pages into memory, but not into this process.
bool populate(std::byte* data, std::uint64_t length) {
  prefetch_pages(data, length);
  return false;
}

// Nothing takes pages away from the cache of a file that is open.
void drop_cached(FileHandle /*file*/, std::uint64_t /*offset*/, std::uint64_t /*length*/) {}

// Windows tells which pages this process has, not which of a file it keeps.
std::optional<std::uint64_t> cached_bytes(FileHandle /*file*/, std::byte* /*data*/,
                                          std::uint64_t /*offset*/, std::uint64_t /*length*/,
                                          const std::string& /*path*/) {
  return std::nullopt;
}

}  // namespace gz
