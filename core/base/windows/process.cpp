#include "core/base/process.h"

#include <windows.h>

#include "core/base/windows/wide_text.h"

namespace gz {

long process_id() { return static_cast<long>(::GetCurrentProcessId()); }

// Windows runs what handles Ctrl-C on a thread of its own.
void leave_signals_to_others() {}

void at_fork(void (* /*before*/)(), void (* /*in_parent*/)(), void (* /*in_child*/)()) {}

// Asks the system: a C library keeps a copy of its own, which others do not change.
std::optional<std::string> environment_variable(const char* name) {
  const std::wstring wide_name(name, name + std::char_traits<char>::length(name));
  const DWORD size = ::GetEnvironmentVariableW(wide_name.c_str(), nullptr, 0);
  if (size == 0) return std::nullopt;
  std::wstring value(size, L'\0');
  value.resize(::GetEnvironmentVariableW(wide_name.c_str(), value.data(), size));
  return utf8(value);
}

}  // namespace gz
