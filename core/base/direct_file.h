// A file read from its device, past the page cache (O_DIRECT, FILE_FLAG_NO_BUFFERING).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/base/file.h"
#include "core/base/recycled_memory.h"

namespace gz {

// Offsets, lengths and addresses of reads are multiples of alignment(). Safe to share between
// threads.
class DirectFile {
 public:
  // Opens the file behind `file` once more, whatever its name is by now, and reads a block to see
  // that it works. Throws IoError where it does not: tmpfs, some network and encrypted file
  // systems.
  explicit DirectFile(const File& file);
  ~DirectFile();
  DirectFile(const DirectFile&) = delete;
  DirectFile& operator=(const DirectFile&) = delete;

  FileHandle handle() const { return handle_; }
  std::uint64_t alignment() const { return alignment_; }
  // Equal for files of one file system.
  std::uint64_t device() const { return device_; }
  // Whether parts of the file were never written: to read those costs the device nothing.
  bool has_holes() const { return has_holes_; }

  // Blocks until the first `needed` bytes of `out` are those from `offset` on, `have` of which are
  // there already. `out` is whole blocks; the file may end inside the last one, behind `needed`.
  // Throws IoError naming the offset, also for a file that ends too early.
  void read_at(std::span<std::byte> out, std::size_t needed, std::uint64_t offset,
               std::size_t have = 0) const;

  // One read, as io_uring would do it: the bytes that arrived, or a negative errno.
  int read_some(std::span<std::byte> out, std::uint64_t offset) const noexcept {
    return static_cast<int>(read_some_at(handle_, out, offset));
  }

 private:
  // Sets alignment_, handle_, device_ and has_holes_. Throws IoError. One implementation per
  // system.
  void open(const File& file);

  std::string path_;
  std::uint64_t alignment_ = 0;
  std::uint64_t device_ = 0;
  bool has_holes_ = false;
  FileHandle handle_ = kNoFile;
};

// Memory for direct reads, aligned to `alignment`, a power of two. Not zeroed.
class DirectMemory {
 public:
  DirectMemory(std::size_t bytes, std::uint64_t alignment)
      : block_(hand_out(bytes + alignment)), alignment_(alignment) {}
  ~DirectMemory() { take_back(block_); }
  DirectMemory(const DirectMemory&) = delete;
  DirectMemory& operator=(const DirectMemory&) = delete;

  std::byte* data() const {
    const auto address = reinterpret_cast<std::uintptr_t>(block_.data);
    return reinterpret_cast<std::byte*>((address + alignment_ - 1) / alignment_ * alignment_);
  }

 private:
  MemoryBlock block_;
  std::uint64_t alignment_;
};

}  // namespace gz
