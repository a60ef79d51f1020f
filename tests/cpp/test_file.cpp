// What POSIX systems ask of reads and writes.
#include <fcntl.h>

#include <cstddef>
#include <span>

#include "core/base/file_handle.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

// macOS refuses more than 2^31 - 1 bytes with EINVAL, and Linux moves fewer than were asked for.
// Nothing is read of what /dev/null is given, so a few bytes stand for three billion.
TEST(one_write_is_of_a_gibibyte_at_most) {
  const std::byte few[16] = {};
  const FileHandle nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  EXPECT(write_some_at(nowhere, {few, std::size_t{3} << 30}, 0) == std::int64_t{1} << 30);
  EXPECT(write_some_at(nowhere, {few, 16}, 0) == 16);
  close_file(nowhere);
}

}  // namespace
}  // namespace gz
