// What the targets share: the input as a file, which exceptions are answers, and what a mapping may
// show.
#pragma once

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/parallel.h"

namespace gz::fuzz {

// A finding: libFuzzer keeps the input and stops.
[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "finding: %s\n", what);
  std::abort();
}
inline void require(bool holds, const char* what) {
  if (!holds) fail(what);
}

// Runs what a hostile input may make fail, and tells whether it went through. Any other exception
// is a finding, IoError too: nothing is wrong with the disk.
template <class Body>
bool attempt(Body&& body) {
  try {
    body();
    return true;
  } catch (const FormatError&) {
  } catch (const MemoryShortage&) {
  } catch (const std::invalid_argument&) {
  }
  return false;
}

// The same for an input that full verification has found right: no part of it is corrupt.
template <class Body>
bool attempt(bool proven, Body&& body) {
  return attempt([&] {
    try {
      body();
    } catch (const FormatError& error) {
      if (proven) fail(error.what());
      throw;
    }
  });
}

// Bytes under a path, without a disk.
class InputFile {
 public:
  explicit InputFile(std::span<const std::byte> bytes)
      : descriptor_(::memfd_create("input", MFD_CLOEXEC)),
        path_(concat("/proc/self/fd/", descriptor_)) {
    require(descriptor_ >= 0, "no memfd");
    write_exact_at(descriptor_, bytes, 0, path_);
  }
  ~InputFile() { ::close(descriptor_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

// While this lives a read of the mapping outside `visible` is a finding: AddressSanitizer knows
// nothing of sections.
class OnlySections {
 public:
  struct Range {
    std::uint64_t offset;
    std::uint64_t length;
  };

  // Ranges by rising offset, none inside another.
  OnlySections(std::shared_ptr<const MappedFile> mapping, std::span<const Range> visible)
      : mapping_(std::move(mapping)) {
    std::uint64_t end = 0;
    for (const Range& range : visible) {
      hide(end, range.offset);
      end = range.offset + range.length;
    }
    hide(end, whole_pages());
  }
  ~OnlySections() { ASAN_UNPOISON_MEMORY_REGION(mapping_->data(), whole_pages()); }
  OnlySections(const OnlySections&) = delete;
  OnlySections& operator=(const OnlySections&) = delete;

 private:
  // Behind the end of the file, a mapping shows zeros up to the next page.
  std::uint64_t whole_pages() const {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return (mapping_->size() + page - 1) / page * page;
  }
  void hide(std::uint64_t begin, std::uint64_t end) const {
    if (begin < end) ASAN_POISON_MEMORY_REGION(mapping_->data() + begin, end - begin);
  }

  std::shared_ptr<const MappedFile> mapping_;
};

// One thread, so that an input always takes the same way.
inline void use_one_thread() {
  static const bool done = [] {
    set_num_threads(1);
    return true;
  }();
  (void)done;
}

}  // namespace gz::fuzz
