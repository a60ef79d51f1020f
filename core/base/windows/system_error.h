// What Windows says when it refuses, as the errno values that IoError has.
#pragma once

#include <windows.h>

#include <string>

#include "core/base/file_handle.h"

namespace gz {

inline HANDLE as_handle(FileHandle file) { return reinterpret_cast<HANDLE>(file); }
inline FileHandle as_file(HANDLE handle) { return reinterpret_cast<FileHandle>(handle); }

// Of a code that GetLastError() returned.
int errno_of(DWORD code);

// Right after a failed call: what GetLastError() says, as an IoError.
[[noreturn]] void throw_last_error(const std::string& path, const char* action);
[[noreturn]] void throw_error(DWORD code, const std::string& path, const char* action);

}  // namespace gz
