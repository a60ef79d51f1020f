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

// Skip the test where the system itself lacks what it is about, as qemu and some containers do.
// The system is asked, not our code: one that fails where there is such a thing fails its tests.
void require_io_ring();
void require_direct_reads();

}  // namespace gz::test
