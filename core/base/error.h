// What can go wrong with a file, as two types the bindings map to FormatError and OSError.
#pragma once

#include <cerrno>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>

namespace gz {

// GCC 12 has no <format>; messages are built by joining their parts.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
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
