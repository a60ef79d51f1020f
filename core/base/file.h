// Files and mappings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/base/fault_guard.h"
#include "core/base/file_handle.h"

namespace gz {

// The only loops over positioned reads and writes: all bytes or IoError, which names `path`. A file
// that ends early is an error, never a short result.
void read_exact_at(FileHandle file, std::span<std::byte> out, std::uint64_t offset,
                   const std::string& path);
void write_exact_at(FileHandle file, std::span<const std::byte> bytes, std::uint64_t offset,
                    const std::string& path);

// A regular file open for reading. Owns its handle, which no child process inherits by exec.
class File {
 public:
  // Throws IoError if `path` is missing, unreadable, or not a regular file.
  explicit File(std::string path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }
  FileHandle handle() const { return handle_; }

  std::uint64_t size() const {
    return size_;
  }  // at the time of opening: what the header was proven against
  std::uint64_t modified_ns() const;  // time of the last change to the contents

  void read_exact_at(std::span<std::byte> out, std::uint64_t offset) const {
    gz::read_exact_at(handle_, out, offset, path_);
  }
  // Says that bytes before `end` are not read again, so that others get their place in the page
  // cache: a hint.
  void done_before(std::uint64_t end) const;

 private:
  std::string path_;
  FileHandle handle_;
  std::uint64_t size_ = 0;
};

// How a range of a mapping is about to be read. The kernel's default guesses "sequential" and reads
// up to megabytes around a fault (docs/design/access-advice.md).
enum class Advice {
  kNormal,
  kRandom,
  kSequential,
  kWillNeed,
  kPopulate,  // map what is in the page cache now, and read what is not: no fault later
};

// Of any memory of this process; anonymous memory needs none. The range is widened to whole pages.
// Advice is a hint: a kernel that ignores it is no error.
void advise_memory(Advice advice, const std::byte* begin, std::uint64_t length);

// A whole file in memory without loading it. Arrays handed to users share ownership of this, so a
// view stays valid whatever happens to the store it came from.
class MappedFile {
 public:
  enum class Mode {
    kReadOnly,     // shared with the page cache; a write faults
    kCopyOnWrite,  // writes stay in this process, cost RAM per page written, never reach the file
  };

  // Maps file->size() bytes even if the file has shrunk since; check_intact() then says so. Throws
  // IoError where the system refuses the mapping, as Windows does for a file that has shrunk.
  MappedFile(std::shared_ptr<const File> file, Mode mode);
  ~MappedFile() = default;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::byte* data() const { return data_.get(); }
  std::uint64_t size() const { return size_; }
  const std::string& path() const { return file_->path(); }
  const File& file() const { return *file_; }

  void advise(Advice advice) const { advise(advice, 0, size_); }
  void advise(Advice advice, std::uint64_t offset, std::uint64_t length) const;

  // Reads the whole file into the page cache now, in huge pages where the file system has them, so
  // that random access misses the TLB less. Pages that are cached already are dropped and read
  // again, unless a process has them mapped. The kernel may still take the memory back. Throws
  // MemoryShortage if there is not enough.
  void preload() const;

  // Throws IoError if the file has shrunk below the mapping, or a page of it could not be read.
  // Engine calls ask before they start and again before they return (see `guarded`).
  void check_intact() const { guard_.check_intact(); }

  // Bytes of the file, or of a part, that are in the page cache now; empty where the kernel will
  // not tell us.
  std::optional<std::uint64_t> resident_bytes() const { return resident_bytes(0, size_); }
  std::optional<std::uint64_t> resident_bytes(std::uint64_t offset, std::uint64_t length) const;

 private:
  struct Unmap {
    std::uint64_t size;
    void operator()(std::byte* data) const;
  };

  std::shared_ptr<const File> file_;
  std::uint64_t size_;
  std::unique_ptr<std::byte, Unmap> data_;
  // Goes first: a fault in what is mapped here next is not this guard's.
  FaultGuard guard_;
};

// Runs an engine call over a mapping. If the file shrinks meanwhile the call sees zeros instead of
// dying of SIGBUS, and the error is raised here, before anyone sees the result.
template <class Body>
auto guarded(const MappedFile& mapping, Body&& body) {
  mapping.check_intact();
  if constexpr (std::is_void_v<decltype(body())>) {
    body();
    mapping.check_intact();
  } else {
    auto result = body();
    mapping.check_intact();
    return result;
  }
}

}  // namespace gz
