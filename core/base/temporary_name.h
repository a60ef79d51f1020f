// The names of files that are not finished.
#pragma once

#include <string>
#include <string_view>

namespace gz {

// In the folder of `path`, hidden, and different at every call.
std::string temporary_path(const std::string& path);

// Whether a file `name` in the folder of `path` has a name that temporary_path(path) gives.
bool is_temporary_name(std::string_view name, const std::string& path);

}  // namespace gz
