#include "core/base/temporary_file.h"

#include <windows.h>

#include "core/base/error.h"
#include "core/base/temporary_name.h"
#include "core/base/windows/system_error.h"
#include "core/base/windows/wide_text.h"

namespace gz {

// It has a name, but goes when its last handle does, which the system closes for a process that
// dies.
FileHandle open_nameless(const std::string& folder) {
  const std::wstring name = wide_path(temporary_path(concat(folder, "/graphzero")));
  const HANDLE file = ::CreateFileW(
      name.c_str(), GENERIC_READ | GENERIC_WRITE | DELETE, 0, nullptr, CREATE_NEW,
      FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE | FILE_FLAG_OVERLAPPED, nullptr);
  if (file == INVALID_HANDLE_VALUE) throw_last_error(folder, "create a temporary file");
  return as_file(file);
}

// Only what is mapped can be asked for.
void read_ahead(FileHandle /*file*/, std::uint64_t /*offset*/, std::uint64_t /*length*/) {}

}  // namespace gz
