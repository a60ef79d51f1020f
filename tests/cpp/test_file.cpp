// What POSIX systems ask of reads and writes.
#include <fcntl.h>
#include <sys/mman.h>

#include <cstddef>
#include <span>

#include "core/base/file_handle.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

// macOS refuses more than 2^31 - 1 bytes with EINVAL, and Linux moves fewer than were asked for.
// Nothing reads what /dev/null is given, so pages that nobody has touched will do.
TEST(one_write_is_of_a_gibibyte_at_most) {
  constexpr std::size_t kSize = std::size_t{3} << 30;
  void* pages = ::mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
  EXPECT(pages != MAP_FAILED);
  if (pages == MAP_FAILED) return;
  const std::byte* zeros = static_cast<const std::byte*>(pages);
  const FileHandle nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  EXPECT(write_some_at(nowhere, {zeros, kSize}, 0) == std::int64_t{1} << 30);
  EXPECT(write_some_at(nowhere, {zeros, 16}, 0) == 16);
  close_file(nowhere);
  ::munmap(pages, kSize);
}

}  // namespace
}  // namespace gz
