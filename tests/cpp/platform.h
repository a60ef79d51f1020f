// What differs between systems for the tests themselves.
#pragma once

#include <stdlib.h>

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
#else
inline constexpr bool kIsWindows = false;
#endif

// A Windows that is not one.
bool is_wine();

}  // namespace gz::test
