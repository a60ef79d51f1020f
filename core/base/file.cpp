#include "core/base/file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "core/base/file_pages.h"
#include "core/base/machine.h"
#include "core/base/memory_pages.h"
#include "core/base/parallel.h"

namespace gz {
namespace {

[[noreturn]] void refuse(const std::string& path, const char* action, std::int64_t result) {
  const int code = static_cast<int>(-result);
  throw IoError(code, path, concat("cannot ", action, ": ", std::strerror(code)));
}

}  // namespace

void read_exact_at(FileHandle file, std::span<std::byte> out, std::uint64_t offset,
                   const std::string& path) {
  while (!out.empty()) {
    const std::int64_t count = read_some_at(file, out, offset);
    if (count < 0) refuse(path, "read", count);
    if (count == 0) {
      throw IoError(
          EIO, path,
          concat("file ends at byte ", offset, ", expected ", out.size(), " more bytes there"));
    }
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void write_exact_at(FileHandle file, std::span<const std::byte> bytes, std::uint64_t offset,
                    const std::string& path) {
  while (!bytes.empty()) {
    const std::int64_t count = write_some_at(file, bytes, offset);
    if (count < 0) refuse(path, "write", count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void File::done_before(std::uint64_t end) const {
  if (end > 0) drop_cached(handle_, 0, end);
}

MappedFile::MappedFile(std::shared_ptr<const File> file, Mode mode)
    : file_(std::move(file)),
      size_(file_->size()),
      data_(map_file(file_->handle(), size_, mode == Mode::kCopyOnWrite, file_->path()), {size_}),
      guard_(data(), size_, mode == Mode::kCopyOnWrite, file_->handle(), file_->path().c_str()) {}

void MappedFile::Unmap::operator()(std::byte* data) const { unmap_file(data, size); }

void MappedFile::advise(Advice advice, std::uint64_t offset, std::uint64_t length) const {
  if (offset >= size_ || length == 0) return;
  length = std::min(length, size_ - offset);
  advise_memory(advice, data() + offset, length);
}

void MappedFile::preload() const {
  require_memory(size_, concat(path(), ": reading it into the page cache"));
  begin_preload(file_->handle(), data(), size_);
  constexpr std::uint64_t kStep = 64 << 20;
  for (std::uint64_t begin = 0; begin < size_; begin += kStep) {
    check_interrupt();
    const std::uint64_t length = std::min(kStep, size_ - begin);
    if (!populate(data() + begin, length)) {  // a read of every page does the same
      check_intact();
      for (std::uint64_t at = begin; at < begin + length; at += machine_page()) {
        const volatile std::byte* const page = data() + at;
        [[maybe_unused]] const std::byte read = *page;
      }
    }
  }
  end_preload(data(), size_);
  check_intact();
}

std::optional<std::uint64_t> MappedFile::resident_bytes(std::uint64_t offset,
                                                        std::uint64_t length) const {
  if (length == 0) return 0;
  return cached_bytes(file_->handle(), data(), offset, length, path());
}

}  // namespace gz
