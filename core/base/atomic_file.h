// A file that appears at its path whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/base/file_handle.h"

namespace gz {

// Bytes go to a hidden temporary file in the target's folder; commit() makes them durable and
// renames it into place. Without a commit nothing is left. A process that is killed leaves its
// temporary file, unlocked, and the next writer of the same target removes it.
class AtomicFile {
 public:
  // Throws IoError if the folder is missing or cannot be written.
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::string& path() const { return path_; }

  void write_at(std::span<const std::byte> bytes, std::uint64_t offset);
  // What was written before, not yet committed.
  void read_at(std::span<std::byte> out, std::uint64_t offset) const;
  // Asks the kernel to start writing a range to the device, so that commit() finds little left to
  // do. A hint: returns at once, and a kernel that ignores it is no error.
  void start_writeback(std::uint64_t offset, std::uint64_t length);
  // Makes the file `size` bytes long; bytes never written read as zero.
  void resize(std::uint64_t size);
  void commit();
  // Does not wait for the device, so that a power cut may leave a file of no bytes: for what can be
  // made again.
  void commit_unsynced();

 private:
  std::string path_;
  std::string temporary_;
  FileHandle file_ = kNoFile;
};

// Makes new and changed names in a folder durable, where that is another step than for the files.
// One that cannot be synced is no error.
void sync_folder(const std::string& folder);

// Lets two files or folders of one file system change their names, at one stroke. Returns false
// where the file system cannot do that. Throws IoError if one of them is not there.
bool exchange_names(const std::string& one, const std::string& other);

}  // namespace gz
