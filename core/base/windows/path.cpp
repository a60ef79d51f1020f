#include "core/base/path.h"

#include <windows.h>

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"
#include "core/base/process.h"
#include "core/base/windows/wide_text.h"

namespace gz {
namespace {

// Folders may have 12 characters less than the 260 of a path, and this prefix is ours to give.
constexpr std::size_t kLongestPlain = 247;
constexpr std::wstring_view kPlainPrefix = LR"(\\?\)";
constexpr std::wstring_view kSharePrefix = LR"(\\?\UNC\)";

std::wstring wide(const std::string& text) {
  const int size = static_cast<int>(text.size());
  if (size == 0) return {};
  const int needed =
      ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), size, nullptr, 0);
  if (needed == 0) throw IoError(EINVAL, text, "is no name of a file: expected UTF-8");
  std::wstring result(static_cast<std::size_t>(needed), L'\0');
  ::MultiByteToWideChar(CP_UTF8, 0, text.data(), size, result.data(), needed);
  return result;
}

std::wstring full_path(const std::wstring& path) {
  std::wstring full(32768, L'\0');
  const DWORD length =
      ::GetFullPathNameW(path.c_str(), static_cast<DWORD>(full.size()), full.data(), nullptr);
  if (length == 0 || length >= full.size()) return path;
  full.resize(length);
  return full;
}

}  // namespace

std::wstring wide_path(const std::string& path) {
  std::wstring result = wide(path);
  if (result.starts_with(kPlainPrefix)) {  // behind it a slash is a character like any other
    std::replace(result.begin(), result.end(), L'/', L'\\');
    return result;
  }
  std::wstring full = full_path(result);
  if (full.size() <= kLongestPlain) return result;
  if (full.starts_with(L"\\\\")) return std::wstring(kSharePrefix) + full.substr(2);
  return std::wstring(kPlainPrefix) + full;
}

std::string utf8(std::wstring_view text) {
  const int size = static_cast<int>(text.size());
  if (size == 0) return {};
  const int needed =
      ::WideCharToMultiByte(CP_UTF8, 0, text.data(), size, nullptr, 0, nullptr, nullptr);
  std::string result(static_cast<std::size_t>(needed), '\0');
  ::WideCharToMultiByte(CP_UTF8, 0, text.data(), size, result.data(), needed, nullptr, nullptr);
  return result;
}

// "C:name" lies in the current folder of that drive, which "C:." is a name of.
std::string folder_of(const std::string& path) {
  const std::size_t end = path.find_last_of("/\\:");
  if (end == std::string::npos) return ".";
  if (path[end] == ':') return path.substr(0, end + 1) + ".";
  const bool is_root = end == 0 || path[end - 1] == ':';
  return path.substr(0, is_root ? end + 1 : end);
}

std::string name_of(const std::string& path) {
  const std::size_t end = path.find_last_of("/\\:");
  return end == std::string::npos ? path : path.substr(end + 1);
}

std::optional<std::string> cache_folder() {
  auto folder = environment_variable("LOCALAPPDATA");
  const bool is_absolute =
      folder && folder->size() > 2 && ((*folder)[1] == ':' || folder->starts_with("\\\\"));
  return is_absolute ? folder : std::nullopt;
}

void make_folders(const std::string& path) {
  for (std::size_t end = path.find_first_of("/\\"); end != std::string::npos;
       end = path.find_first_of("/\\", end + 1)) {
    if (end > 0) ::CreateDirectoryW(wide_path(path.substr(0, end)).c_str(), nullptr);
  }
  ::CreateDirectoryW(wide_path(path).c_str(), nullptr);
}

}  // namespace gz
