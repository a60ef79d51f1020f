#include "core/base/posix/unlinked_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

namespace gz {

int open_unlinked(const std::string& folder) {
  std::string path = folder + "/.graphzero-XXXXXX";
  const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor >= 0) ::unlink(path.c_str());
  return descriptor;
}

}  // namespace gz
