#include "core/base/cache_file.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <system_error>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace gz {
namespace {

constexpr std::uint64_t kLongest = 64 << 10;

// A relative path is no path here (XDG Base Directory Specification).
std::optional<std::string> path_in(const char* variable) {
  const char* const path = std::getenv(variable);
  if (path == nullptr || path[0] != '/') return std::nullopt;
  return path;
}

std::optional<std::string> cache_folder() {
  if (const auto folder = path_in("XDG_CACHE_HOME")) return *folder + "/graphzero";
  if (const auto home = path_in("HOME")) return *home + "/.cache/graphzero";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> read_cache_file(const std::string& name) {
  const auto folder = cache_folder();
  if (!folder) return std::nullopt;
  try {
    const File file(concat(*folder, "/", name));
    if (file.size() > kLongest) return std::nullopt;
    std::string text(file.size(), '\0');
    file.read_exact_at(std::as_writable_bytes(std::span(text)), 0);
    return text;
  } catch (const IoError&) {
    return std::nullopt;
  }
}

void write_cache_file(const std::string& name, const std::string& text) {
  const auto folder = cache_folder();
  if (!folder) return;
  std::error_code ignored;
  std::filesystem::create_directories(*folder, ignored);
  try {
    AtomicFile file(concat(*folder, "/", name));
    file.write_at(std::as_bytes(std::span(text)), 0);
    file.commit_unsynced();
  } catch (const IoError&) {
    // Then the next process measures again.
  }
}

}  // namespace gz
