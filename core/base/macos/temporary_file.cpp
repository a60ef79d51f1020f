#include "core/base/temporary_file.h"

#include <fcntl.h>

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/base/posix/unlinked_file.h"

namespace gz {

FileHandle open_nameless(const std::string& folder) {
  const int descriptor = open_unlinked(folder);
  if (descriptor < 0) throw_errno(folder, "create a temporary file");
  return descriptor;
}

void read_ahead(FileHandle file, std::uint64_t offset, std::uint64_t length) {
  constexpr std::uint64_t kMost = std::numeric_limits<int>::max();
  radvisory range = {};
  range.ra_offset = static_cast<off_t>(offset);
  range.ra_count = static_cast<int>(std::min(length, kMost));
  ::fcntl(static_cast<int>(file), F_RDADVISE, &range);
}

}  // namespace gz
