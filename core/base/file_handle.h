// An open file as the system knows it, and the calls on it. One implementation per system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gz {

// A descriptor of POSIX, or a HANDLE of Windows. Both have -1 for none.
using FileHandle = std::intptr_t;
inline constexpr FileHandle kNoFile = -1;

// One read or write at a place: the bytes that were moved, 0 at the end of the file, or a negative
// errno. Interrupted calls are repeated. Threads may share a handle, and do not wait for each
// other.
std::int64_t read_some_at(FileHandle file, std::span<std::byte> out, std::uint64_t offset) noexcept;
std::int64_t write_some_at(FileHandle file, std::span<const std::byte> bytes,
                           std::uint64_t offset) noexcept;

// Its length now, or a negative errno. Safe in a handler of faults.
std::int64_t size_of_file(FileHandle file) noexcept;

void close_file(FileHandle file) noexcept;

}  // namespace gz
