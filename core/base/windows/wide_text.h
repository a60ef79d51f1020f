// Text of Windows (UTF-16) and ours (UTF-8).
#pragma once

#include <string>
#include <string_view>

namespace gz {

// Throws IoError if `path` is not UTF-8. A path that is too long for plain names gets the prefix
// \\?\, which allows 32,767 characters.
std::wstring wide_path(const std::string& path);

std::string utf8(std::wstring_view text);

}  // namespace gz
