// Mapping files, and what the system does with their pages. One implementation per system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/base/file_handle.h"

namespace gz {

// `path` is for the IoError that is thrown where the system refuses.
std::byte* map_file(FileHandle file, std::uint64_t size, bool copy_on_write,
                    const std::string& path);
void unmap_file(std::byte* data, std::uint64_t size) noexcept;

// Around the reads that bring a whole file into the page cache: they may prepare it, and the
// mapping.
void begin_preload(FileHandle file, std::byte* data, std::uint64_t size);
void end_preload(std::byte* data, std::uint64_t size);
// Reads a part of a mapping; false if the system has no such call, or it failed.
bool populate(std::byte* data, std::uint64_t length);

// Takes a part of a file that is not read again out of the page cache: a hint. Pages that wait to
// be written, or that a process has mapped, stay. Length 0 is up to the end.
void drop_cached(FileHandle file, std::uint64_t offset, std::uint64_t length);

// Bytes of a part of a file, mapped at `data`, that are in the page cache; empty where the system
// does not tell.
std::optional<std::uint64_t> cached_bytes(FileHandle file, std::byte* data, std::uint64_t offset,
                                          std::uint64_t length, const std::string& path);

}  // namespace gz
