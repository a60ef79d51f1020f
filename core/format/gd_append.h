// The rows of one .gd behind those of others, proven while they are copied.
#pragma once

#include "core/base/file.h"
#include "core/format/gd_writer.h"

namespace gz {

// Appends the rows of a file in the order in which they are stored, and their scales. Each byte is
// read once, and leaves the page cache. Throws FormatError if anything is not as verify_features()
// expects it; `writer` must not be finished then.
void append_file(GdWriter& writer, const File& file);

}  // namespace gz
