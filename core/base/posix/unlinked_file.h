// A temporary file on systems, and file systems, that know no nameless ones.
#pragma once

#include <string>

namespace gz {

// Makes a file in `folder` and takes its name away at once. A descriptor, or -1 with errno.
int open_unlinked(const std::string& folder);

}  // namespace gz
