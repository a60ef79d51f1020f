#include "tests/cpp/platform.h"

#ifdef _WIN32
#include <windows.h>
#endif

namespace gz::test {

bool is_wine() {
#ifdef _WIN32
  return ::GetProcAddress(::GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != nullptr;
#else
  return false;
#endif
}

}  // namespace gz::test
