#include "core/base/temporary_name.h"

#include <cstdint>
#include <random>

#include "core/base/error.h"
#include "core/base/path.h"

namespace gz {
namespace {

constexpr std::string_view kSuffix = ".graphzero-tmp";
constexpr std::size_t kRandomDigits = 16;

std::string prefix_of(const std::string& path) { return concat(".", name_of(path), "."); }

std::string random_digits() {
  std::random_device entropy;
  const std::uint64_t bits = std::uint64_t{entropy()} << 32 | entropy();
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(kRandomDigits, '0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = kDigits[bits >> (4 * i) & 15];
  return text;
}

}  // namespace

std::string temporary_path(const std::string& path) {
  return concat(folder_of(path), "/", prefix_of(path), random_digits(), kSuffix);
}

bool is_temporary_name(std::string_view name, const std::string& path) {
  const std::string prefix = prefix_of(path);
  // What lies between must be our random part alone: ".a.gl.X" is not a leftover of ".a".
  return name.starts_with(prefix) && name.ends_with(kSuffix) &&
         name.size() == prefix.size() + kRandomDigits + kSuffix.size();
}

}  // namespace gz
