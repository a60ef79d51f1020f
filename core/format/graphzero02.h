// Files of the public package GraphZero 0.2, read-only: no version, no checksum, no page alignment.
// docs/formats/graphzero-0.2.md has the byte tables.
#pragma once

#include "core/format/container.h"

namespace gz {

struct GlLayout;
struct GdLayout;

inline constexpr Magic kGraphZero02GlMagic = {'g', 'r', 'a', 'p', 'h', 'l', 'i', 't'};
inline constexpr Magic kGraphZero02GdMagic = {'G', 'Z', 'D', 'A', 'T', 'A', '2', '6'};

// Both prove the header against the size of the file and throw FormatError. The file does not say
// whether its graph is directed; it is taken to be, with an out index alone and lists in any order.
GlLayout read_graphzero02_gl(const File& file);
GdLayout read_graphzero02_gd(const File& file);

}  // namespace gz
