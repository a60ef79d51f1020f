#include "core/base/direct_file.h"

#include <windows.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "core/base/error.h"
#include "core/base/types.h"
#include "core/base/windows/system_error.h"

namespace gz {
namespace {

// 4096 suits every device that does not tell.
std::uint64_t alignment_of(HANDLE file) {
  FILE_STORAGE_INFO info = {};
  if (!::GetFileInformationByHandleEx(file, FileStorageInfo, &info, sizeof info)) return kPage;
  const DWORD sector = std::max(info.LogicalBytesPerSector,
                                info.FileSystemEffectivePhysicalBytesPerSectorForAtomicity);
  return sector == 0 ? kPage : std::bit_ceil(std::uint64_t{sector});
}

}  // namespace

void DirectFile::open(const File& file) {
  const HANDLE original = as_handle(file.handle());
  const HANDLE again =
      ::ReOpenFile(original, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                   FILE_FLAG_NO_BUFFERING | FILE_FLAG_OVERLAPPED);
  if (again == INVALID_HANDLE_VALUE) throw_last_error(path_, "open it past the page cache");
  handle_ = as_file(again);
  alignment_ = alignment_of(again);
  BY_HANDLE_FILE_INFORMATION status = {};
  FILE_STANDARD_INFO sizes = {};
  if (!::GetFileInformationByHandle(again, &status) ||
      !::GetFileInformationByHandleEx(again, FileStandardInfo, &sizes, sizeof sizes)) {
    throw_last_error(path_, "look at");
  }
  // Windows opens these, and reads them through the page cache all the same.
  if ((status.dwFileAttributes & (FILE_ATTRIBUTE_COMPRESSED | FILE_ATTRIBUTE_ENCRYPTED)) != 0) {
    throw IoError(EINVAL, path_,
                  "cannot be read past the page cache: it is compressed or encrypted");
  }
  device_ = status.dwVolumeSerialNumber;
  has_holes_ = sizes.AllocationSize.QuadPart < sizes.EndOfFile.QuadPart;
}

}  // namespace gz
