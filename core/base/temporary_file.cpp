#include "core/base/temporary_file.h"

#include "core/base/file.h"

namespace gz {

TemporaryFile::~TemporaryFile() {
  if (file_ != kNoFile) close_file(file_);
}

FileHandle TemporaryFile::open_once() {
  const FileHandle open_already = file_.load(std::memory_order_acquire);
  if (open_already != kNoFile) return open_already;
  const std::lock_guard lock(mutex_);
  if (file_ == kNoFile) file_.store(open_nameless(folder_), std::memory_order_release);
  return file_;
}

std::uint64_t TemporaryFile::append(std::span<const std::byte> bytes) {
  const FileHandle file = open_once();
  const std::uint64_t start = size_.fetch_add(bytes.size());
  write_exact_at(file, bytes, start, folder_);
  return start;
}

void TemporaryFile::will_need(std::uint64_t offset, std::uint64_t length) const {
  read_ahead(file_, offset, length);
}

void TemporaryFile::read_exact_at(std::span<std::byte> out, std::uint64_t offset) const {
  gz::read_exact_at(file_, out, offset, folder_);
}

}  // namespace gz
