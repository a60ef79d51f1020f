#include "core/base/cache_file.h"

#include <cstdint>
#include <span>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/path.h"

namespace gz {
namespace {

constexpr std::uint64_t kLongest = 64 << 10;

std::optional<std::string> path_of(const std::string& name) {
  const auto folder = cache_folder();
  if (!folder) return std::nullopt;
  return concat(*folder, "/graphzero/", name);
}

}  // namespace

std::optional<std::string> read_cache_file(const std::string& name) {
  const auto path = path_of(name);
  if (!path) return std::nullopt;
  try {
    const File file(*path);
    if (file.size() > kLongest) return std::nullopt;
    std::string text(file.size(), '\0');
    file.read_exact_at(std::as_writable_bytes(std::span(text)), 0);
    return text;
  } catch (const IoError&) {
    return std::nullopt;
  }
}

void write_cache_file(const std::string& name, const std::string& text) {
  const auto path = path_of(name);
  if (!path) return;
  make_folders(folder_of(*path));
  try {
    AtomicFile file(*path);
    file.write_at(std::as_bytes(std::span(text)), 0);
    file.commit_unsynced();
  } catch (const IoError&) {
    // Then the next process measures again.
  }
}

}  // namespace gz
