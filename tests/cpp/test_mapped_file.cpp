// Mappings of files that change under them.
#ifdef _WIN32
#include <windows.h>
#endif

#include <filesystem>
#include <memory>

#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/cpp/check.h"
#include "tests/cpp/platform.h"
#include "tests/cpp/scratch_file.h"

namespace gz {
namespace {

constexpr std::size_t kPages = 32;
constexpr std::size_t kPageBytes = 4096;

// Makes pages from `page` on unreadable: the file shrinks, or, as Windows lets nobody shrink a
// mapped file, the page is taken away, as a network share that is gone would.
void lose_pages(const MappedFile& mapping, const std::string& path, std::size_t page) {
#ifdef _WIN32
  static_cast<void>(path);
  DWORD before = 0;
  EXPECT(::VirtualProtect(mapping.data() + page * kPageBytes, kPageBytes, PAGE_NOACCESS, &before));
#else
  static_cast<void>(mapping);
  std::filesystem::resize_file(path, page * kPageBytes);
#endif
}

TEST(a_page_that_cannot_be_read_is_zeros_and_then_an_error) {
  for (const auto mode : {MappedFile::Mode::kReadOnly, MappedFile::Mode::kCopyOnWrite}) {
    const ScratchFile scratch(kPages * kPageBytes);
    const MappedFile mapping(std::make_shared<const File>(scratch.path()), mode);
    mapping.check_intact();
    EXPECT(mapping.data()[20 * kPageBytes] == ScratchFile::byte_at(20 * kPageBytes));
    lose_pages(mapping, scratch.path(), 20);
    const volatile std::byte* const data = mapping.data();
    EXPECT(data[20 * kPageBytes] == std::byte{0});
    EXPECT(data[20 * kPageBytes + 100] == std::byte{0});
    const std::string message = test::message_of([&] { mapping.check_intact(); });
    EXPECT(message.find(test::kIsWindows ? "a page of the mapped file could not be read"
                                         : "the file shrank while it was mapped: expected ") == 0);
    EXPECT(test::message_of([&] { FaultGuard::check_intact_at(mapping.data() + 100); }) == message);
  }
}

TEST(a_file_that_shrank_before_it_is_mapped_is_an_error) {
  const ScratchFile scratch(kPages * kPageBytes);
  const auto file = std::make_shared<const File>(scratch.path());
  std::filesystem::resize_file(scratch.path(), 5000);
  const std::string message = test::message_of([&] {
    const MappedFile mapping(file, MappedFile::Mode::kReadOnly);
    mapping.check_intact();
  });
  EXPECT(message.find("the file shrank ") == 0);
  EXPECT(message.find("expected 131072 bytes, found 5000") != std::string::npos);
}

TEST(a_mapping_preloads_all_its_pages) {
  const ScratchFile scratch(kPages * kPageBytes);
  const MappedFile mapping(std::make_shared<const File>(scratch.path()),
                           MappedFile::Mode::kReadOnly);
  mapping.preload();
  if (const auto resident = mapping.resident_bytes()) EXPECT(*resident == kPages * kPageBytes);
  EXPECT(mapping.data()[77777] == ScratchFile::byte_at(77777));
}

}  // namespace
}  // namespace gz
