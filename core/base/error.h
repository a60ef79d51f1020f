// What can go wrong with a file, as two types the bindings map to FormatError and OSError.
#pragma once

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace gz {

// What a message is built of. Streams would ask the locale, which may write numbers its own way,
// and which a module that brings its own copy of the C++ library cannot rely on.
// An exception hands its message on as a C string, so a NUL of a bad line or a label would cut it.
inline void append_part(std::string& text, char part) {
  part == '\0' ? text.append("\\x00") : text.append(1, part);
}
inline void append_part(std::string& text, std::string_view part) {
  for (std::size_t nul = part.find('\0'); nul != part.npos; nul = part.find('\0')) {
    append_part(text.append(part.substr(0, nul)), '\0');
    part.remove_prefix(nul + 1);
  }
  text += part;
}
template <class Number>
  requires std::is_arithmetic_v<Number>
void append_part(std::string& text, Number number) {
  std::array<char, 64> digits;  // the shortest that mean this very number
  text.append(digits.data(), std::to_chars(digits.begin(), digits.end(), number).ptr);
}

// GCC 12 has no <format>; messages are built by joining their parts.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string text;
  (append_part(text, parts), ...);
  return text;
}

// A byte in two digits.
inline std::string hex_of(char c) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return {kDigits[byte >> 4], kDigits[byte & 15]};
}

// The bytes are not what the format says. The message opens with the path.
class FormatError : public std::runtime_error {
 public:
  template <class... Parts>
  explicit FormatError(const std::string& path, const Parts&... parts)
      : std::runtime_error(concat(path, ": ", parts...)) {}
};

// The operating system refused or failed; `code` is an errno value.
class IoError : public std::runtime_error {
 public:
  IoError(int code, std::string path, const std::string& detail)
      : std::runtime_error(detail), code_(code), path_(std::move(path)) {}

  int code() const { return code_; }
  const std::string& path() const { return path_; }

 private:
  int code_;
  std::string path_;
};

// A job would need more memory than there is. Said before the first byte is taken.
class MemoryShortage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Right after a failed system call: what errno says, as an IoError.
[[noreturn]] inline void throw_errno(const std::string& path, const char* action) {
  const int code = errno;
  throw IoError(code, path, concat("cannot ", action, ": ", std::strerror(code)));
}

}  // namespace gz
