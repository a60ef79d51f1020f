#include "core/base/path.h"

#include <filesystem>
#include <system_error>

#include "core/base/process.h"

namespace gz {
namespace {

// A relative path is no path here (XDG Base Directory Specification).
std::optional<std::string> path_in(const char* variable) {
  auto path = environment_variable(variable);
  return path && path->starts_with('/') ? path : std::nullopt;
}

}  // namespace

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::optional<std::string> cache_folder() {
  if (auto folder = path_in("XDG_CACHE_HOME")) return folder;
  if (const auto home = path_in("HOME")) return *home + "/.cache";
  return std::nullopt;
}

void make_folders(const std::string& path) {
  std::error_code ignored;
  std::filesystem::create_directories(path, ignored);
}

}  // namespace gz
