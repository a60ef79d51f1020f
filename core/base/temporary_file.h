// A file without a name: it is gone when the process is, however that ends.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/base/file_handle.h"

namespace gz {

// A new one, open for reading and writing. Throws IoError. One implementation per system, as of
// read_ahead(), which asks for bytes that will be read soon: a hint.
FileHandle open_nameless(const std::string& folder);
void read_ahead(FileHandle file, std::uint64_t offset, std::uint64_t length);

// Safe to use from many threads at once.
class TemporaryFile {
 public:
  // Made in `folder` at the first write.
  explicit TemporaryFile(std::string folder) : folder_(std::move(folder)) {}
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // Appends and returns the offset the bytes are at. Throws IoError, for instance if the disk is
  // full.
  std::uint64_t append(std::span<const std::byte> bytes);
  void read_exact_at(std::span<std::byte> out, std::uint64_t offset) const;
  // Asks for bytes that will be read soon, so that many reads are under way at once.
  void will_need(std::uint64_t offset, std::uint64_t length) const;
  std::uint64_t size() const { return size_.load(); }
  // body(span of bytes) for all that was appended, in order, some megabytes at a time.
  template <class Body>
  void for_each_block(Body&& body) const {
    std::vector<std::byte> block(static_cast<std::size_t>(std::min(size(), kBlock)));
    for (std::uint64_t offset = 0; offset < size(); offset += block.size()) {
      const auto part = std::span(block).first(
          static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), size() - offset)));
      read_exact_at(part, offset);
      body(std::span<const std::byte>(part));
    }
  }

 private:
  static constexpr std::uint64_t kBlock = 2 << 20;

  FileHandle open_once();

  std::string folder_;
  std::mutex mutex_;
  std::atomic<FileHandle> file_{kNoFile};
  std::atomic<std::uint64_t> size_{0};
};

}  // namespace gz
