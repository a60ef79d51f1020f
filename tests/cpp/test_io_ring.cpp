#include <array>
#include <cerrno>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/io_ring.h"
#include "tests/cpp/check.h"
#include "tests/cpp/scratch_file.h"

namespace gz {
namespace {

TEST(reads_of_a_ring_complete_with_their_tags_and_bytes) {
  const ScratchFile scratch(1 << 16);
  const File file(scratch.path());
  IoRing ring(8);
  EXPECT(ring.entries() == 8);
  std::vector<std::byte> buffers(8 * 100);
  std::array<IoRing::Done, 3> done;
  unsigned next = 0, taken = 0;
  while (taken < 50) {
    for (; next < 50 && ring.in_flight() < ring.entries(); ++next) {
      ring.read(file.descriptor(), buffers.data() + (next % 8) * 100, 100, next * 1000, next);
      if (next % 8 == 7) {
        ++next;
        break;
      }
    }
    // All of a round are taken before the next one reuses its buffers.
    while (ring.in_flight() > 0) {
      const std::size_t count = ring.wait(done);
      EXPECT(count > 0);
      for (std::size_t i = 0; i < count; ++i, ++taken) {
        EXPECT(done[i].result == 100);
        const std::byte* const bytes = buffers.data() + (done[i].tag % 8) * 100;
        EXPECT(bytes[0] == ScratchFile::byte_at(done[i].tag * 1000));
        EXPECT(bytes[99] == ScratchFile::byte_at(done[i].tag * 1000 + 99));
      }
    }
  }
  EXPECT(ring.wait(done) == 0);
}

TEST(a_read_that_fails_completes_with_its_errno) {
  IoRing ring(2);
  std::array<std::byte, 16> into;
  std::array<IoRing::Done, 2> done;
  ring.read(-1, into.data(), 16, 0, 7);
  EXPECT(ring.wait(done) == 1);
  EXPECT(done[0].tag == 7);
  EXPECT(done[0].result == -EBADF);
}

TEST(a_read_behind_the_end_has_no_bytes) {
  const ScratchFile scratch(100);
  const File file(scratch.path());
  IoRing ring(1);
  std::array<std::byte, 16> into;
  std::array<IoRing::Done, 1> done;
  ring.read(file.descriptor(), into.data(), 16, 90, 0);
  EXPECT(ring.wait(done) == 1 && done[0].result == 10);
  ring.read(file.descriptor(), into.data(), 16, 100, 0);
  EXPECT(ring.wait(done) == 1 && done[0].result == 0);
}

TEST(a_ring_may_go_while_reads_are_in_flight) {
  const ScratchFile scratch(1 << 20);
  const File file(scratch.path());
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<std::byte> buffers(32 * 4096);
    IoRing ring(32);
    std::array<IoRing::Done, 1> done;
    for (unsigned i = 0; i < 32; ++i)
      ring.read(file.descriptor(), buffers.data() + i * 4096, 4096, i * 8192, i);
    if (repeat % 2 == 0) EXPECT(ring.wait(done) == 1);
  }
}

TEST(a_ring_of_no_entries_is_refused) {
  const std::string message = test::message_of([] { IoRing ring(0); });
  EXPECT(message.find("cannot set up a ring: ") == 0);
}

}  // namespace
}  // namespace gz
