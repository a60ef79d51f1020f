// A file on the disk of the working folder, unlinked at the end. Its bytes follow from their
// places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace gz {

class ScratchFile {
 public:
  explicit ScratchFile(std::size_t size, std::string path = "gz_tests.scratch")
      : path_(std::move(path)) {
    std::vector<char> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(byte_at(i));
    std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(size));
  }
  ~ScratchFile() { std::remove(path_.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::string& path() const { return path_; }

  static std::byte byte_at(std::uint64_t place) {
    return static_cast<std::byte>((place * 2654435769u) >> 13);
  }

 private:
  std::string path_;
};

}  // namespace gz
