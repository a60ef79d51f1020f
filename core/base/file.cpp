#include "core/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/base/parallel.h"

namespace gz {
namespace {

struct stat status_of(int descriptor, const std::string& path) {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) throw_errno(path, "stat");
  return status;
}

std::uint64_t machine_page() {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return page;
}

}  // namespace

void read_exact_at(int descriptor, std::span<std::byte> out, std::uint64_t offset,
                   const std::string& path) {
  while (!out.empty()) {
    const ssize_t count = ::pread(descriptor, out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0) {
      if (errno == EINTR) continue;
      throw_errno(path, "read");
    }
    if (count == 0) {
      throw IoError(
          EIO, path,
          concat("file ends at byte ", offset, ", expected ", out.size(), " more bytes there"));
    }
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void write_exact_at(int descriptor, std::span<const std::byte> bytes, std::uint64_t offset,
                    const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0) {
      if (errno == EINTR) continue;
      throw_errno(path, "write");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

File::File(std::string path) : path_(std::move(path)) {
  // Without O_NONBLOCK a named pipe would block here for ever; regular files ignore it.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) throw_errno(path_, "open");
  try {
    const struct stat status = status_of(descriptor_, path_);
    if (S_ISDIR(status.st_mode)) {
      throw IoError(EISDIR, path_, "is a directory, expected a file");
    }
    if (!S_ISREG(status.st_mode))
      throw IoError(EINVAL, path_, "is not a regular file, so it cannot be mapped");
    size_ = static_cast<std::uint64_t>(status.st_size);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

File::~File() { ::close(descriptor_); }

std::uint64_t File::modified_ns() const {
  const struct timespec time = status_of(descriptor_, path_).st_mtim;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

namespace {

std::byte* map(const File& file, std::uint64_t size, MappedFile::Mode mode) {
  const bool private_copy = mode == MappedFile::Mode::kCopyOnWrite;
  // No reserve: a writable private mapping would otherwise be charged as if every page were
  // written, and a file larger than RAM refused.
  const int flags = private_copy ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED;
  const int protection = private_copy ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const data = ::mmap(nullptr, size, protection, flags, file.descriptor(), 0);
  if (data == MAP_FAILED) throw_errno(file.path(), "map");
  return static_cast<std::byte*>(data);
}

}  // namespace

MappedFile::MappedFile(std::shared_ptr<const File> file, Mode mode)
    : file_(std::move(file)),
      size_(file_->size()),
      data_(map(*file_, size_, mode), {size_}),
      guard_(data(), size_, mode == Mode::kCopyOnWrite, file_->descriptor(),
             file_->path().c_str()) {}

void MappedFile::Unmap::operator()(std::byte* data) const { ::munmap(data, size); }

void advise_memory(Advice advice, const std::byte* begin, std::uint64_t length) {
  constexpr int kCodes[] = {MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED,
                            MADV_POPULATE_READ};
  const std::uint64_t before = reinterpret_cast<std::uintptr_t>(begin) % machine_page();
  ::madvise(const_cast<std::byte*>(begin) - before, length + before,
            kCodes[static_cast<std::size_t>(advice)]);
}

void MappedFile::advise(Advice advice, std::uint64_t offset, std::uint64_t length) const {
  if (offset >= size_ || length == 0) return;
  length = std::min(length, size_ - offset);
  advise_memory(advice, data() + offset, length);
}

void MappedFile::preload() const {
  require_memory(size_, concat(path(), ": reading it into the page cache"));
  posix_fadvise(file_->descriptor(), 0, 0, POSIX_FADV_DONTNEED);
  ::madvise(data(), size_, MADV_HUGEPAGE);
  constexpr std::uint64_t kStep = 64 << 20;
  for (std::uint64_t begin = 0; begin < size_; begin += kStep) {
    check_interrupt();
    const std::uint64_t length = std::min(kStep, size_ - begin);
    // Kernels before 5.14 cannot populate; a read of every page does the same.
    if (::madvise(data() + begin, length, MADV_POPULATE_READ) != 0) {
      check_intact();
      for (std::uint64_t at = begin; at < begin + length; at += machine_page()) {
        const volatile std::byte* const page = data() + at;
        [[maybe_unused]] const std::byte read = *page;
      }
    }
  }
  ::madvise(data(), size_, MADV_NOHUGEPAGE);  // what is read again is read page by page
  check_intact();
}

namespace {

// Linux 6.5's cachestat: its cost grows with what is cached, not with the size of the file.
std::optional<std::uint64_t> cached_pages(int descriptor, std::uint64_t offset,
                                          std::uint64_t length) {
  constexpr long kCachestat = 451;
  struct Range {
    std::uint64_t offset;
    std::uint64_t length;  // 0: to the end
  } range = {offset, length};
  struct Counts {
    std::uint64_t cached, dirty, in_writeback, evicted, recently_evicted;
  } counts = {};
  if (::syscall(kCachestat, descriptor, &range, &counts, 0) != 0) return std::nullopt;
  return counts.cached;
}

std::optional<std::uint64_t> resident_pages(std::byte* data, std::uint64_t size) {
  constexpr std::uint64_t kPagesPerCall = 1 << 16;
  std::vector<unsigned char> residency(kPagesPerCall);
  const std::uint64_t step = kPagesPerCall * machine_page();
  std::uint64_t pages = 0;
  for (std::uint64_t offset = 0; offset < size; offset += step) {
    const std::uint64_t length = std::min(step, size - offset);
    if (::mincore(data + offset, length, residency.data()) != 0) return std::nullopt;
    const std::uint64_t count = (length + machine_page() - 1) / machine_page();
    pages += static_cast<std::uint64_t>(
        std::count_if(residency.begin(), residency.begin() + static_cast<std::ptrdiff_t>(count),
                      [](unsigned char page) { return (page & 1) != 0; }));
  }
  return pages;
}

}  // namespace

std::optional<std::uint64_t> MappedFile::resident_bytes(std::uint64_t offset,
                                                        std::uint64_t length) const {
  if (length == 0) return 0;
  auto pages = cached_pages(file_->descriptor(), offset, length);
  if (!pages) {
    if (errno == EPERM) return std::nullopt;
    // The kernel answers mincore for files of others with "all resident", to close a side channel.
    const struct stat status = status_of(file_->descriptor(), path());
    if (status.st_uid != ::geteuid() && ::geteuid() != 0 &&
        ::faccessat(AT_FDCWD, path().c_str(), W_OK, AT_EACCESS) != 0) {
      return std::nullopt;
    }
    const std::uint64_t before = offset % machine_page();
    pages = resident_pages(data() + offset - before, length + before);
  }
  if (!pages) return std::nullopt;
  return std::min(*pages * machine_page(), length);
}

}  // namespace gz
