// What differs between systems for the tests themselves.
#pragma once

#include <stdlib.h>
#ifdef _WIN32
#include <windows.h>
#endif

namespace gz::test {

#ifdef _WIN32
inline void set_variable(const char* name, const char* value) { ::_putenv_s(name, value); }
inline void unset_variable(const char* name) { ::_putenv_s(name, ""); }
#else
inline void set_variable(const char* name, const char* value) { ::setenv(name, value, 1); }
inline void unset_variable(const char* name) { ::unsetenv(name); }
#endif

#ifdef __linux__
inline constexpr bool kIsLinux = true;
#else
inline constexpr bool kIsLinux = false;
#endif

#ifdef _WIN32
inline constexpr bool kIsWindows = true;
inline const bool kIsWine =
    ::GetProcAddress(::GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != nullptr;
#else
inline constexpr bool kIsWindows = false;
inline constexpr bool kIsWine = false;
#endif

}  // namespace gz::test
