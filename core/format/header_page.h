// Headers of files of which only the first page is here, such as those of objects in storage.
#pragma once

#include <cstdint>
#include <string>

#include "core/format/container.h"
#include "core/format/gd.h"

namespace gz {

// As read_container() of a file of `file_size` bytes that begins with `page`; `path` is what
// messages call it.
Container read_container(const std::string& path, const HeaderPage& page, std::uint64_t file_size,
                         const Magic& magic, bool (*is_known)(std::uint32_t kind));

// The same of a .gd file of version 1. Throws FormatError.
GdLayout read_gd(const std::string& path, const HeaderPage& page, std::uint64_t file_size);

}  // namespace gz
