#ifndef _WIN32
#include <unistd.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "core/base/direct_file.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/io_ring.h"
#include "tests/cpp/check.h"
#include "tests/cpp/platform.h"
#include "tests/cpp/scratch_file.h"

namespace gz {
namespace {

TEST(reads_of_a_ring_complete_with_their_tags_and_bytes) {
  test::require_io_ring();
  const ScratchFile scratch(1 << 16);
  const File file(scratch.path());
  IoRing ring(8);
  EXPECT(ring.entries() == 8);
  std::vector<std::byte> buffers(8 * 100);
  std::array<IoRing::Done, 3> done;
  unsigned next = 0, taken = 0;
  while (taken < 50) {
    for (; next < 50 && ring.in_flight() < ring.entries(); ++next) {
      ring.read(file.handle(), buffers.data() + (next % 8) * 100, 100, next * 1000, next);
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
  test::require_io_ring();
  IoRing ring(2);
  std::array<std::byte, 16> into;
  std::array<IoRing::Done, 2> done;
  ring.read(-1, into.data(), 16, 0, 7);
  EXPECT(ring.wait(done) == 1);
  EXPECT(done[0].tag == 7);
  EXPECT(done[0].result == -EBADF);
}

TEST(a_read_behind_the_end_has_no_bytes) {
  test::require_io_ring();
  const ScratchFile scratch(100);
  const File file(scratch.path());
  IoRing ring(1);
  std::array<std::byte, 16> into;
  std::array<IoRing::Done, 1> done;
  ring.read(file.handle(), into.data(), 16, 90, 0);
  EXPECT(ring.wait(done) == 1 && done[0].result == 10);
  ring.read(file.handle(), into.data(), 16, 100, 0);
  EXPECT(ring.wait(done) == 1 && done[0].result == 0);
}

TEST(a_ring_may_go_while_reads_are_in_flight) {
  test::require_io_ring();
  const ScratchFile scratch(1 << 20);
  const File file(scratch.path());
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<std::byte> buffers(32 * 4096);
    IoRing ring(32);
    std::array<IoRing::Done, 1> done;
    for (unsigned i = 0; i < 32; ++i)
      ring.read(file.handle(), buffers.data() + i * 4096, 4096, i * 8192, i);
    if (repeat % 2 == 0) EXPECT(ring.wait(done) == 1);
  }
}

TEST(a_ring_that_goes_has_waited_for_reads_from_the_device) {
  test::require_io_ring();
  test::require_direct_reads();
  const ScratchFile scratch(1 << 20);
  const File file(scratch.path());
  const DirectFile direct(file);
  const DirectMemory memory(64 * 4096, 4096);
  std::fill(memory.data(), memory.data() + 64 * 4096, std::byte{0});
  {
    IoRing ring(64);
    std::array<IoRing::Done, 1> done;
    for (unsigned i = 0; i < 64; ++i)
      ring.read(direct.handle(), memory.data() + i * 4096, 4096, i * 8192, i);
    EXPECT(ring.wait(done) == 1);
    EXPECT(ring.in_flight() == 63);
  }
  bool all = true;
  for (unsigned i = 0; i < 64; ++i) {
    all = all && memory.data()[i * 4096 + 4095] == ScratchFile::byte_at(i * 8192 + 4095);
  }
  EXPECT(all);
}

// Bytes come into the pipe one by one, and each ends one read.
TEST(a_wait_is_for_as_many_as_it_is_told) {
  test::require_io_ring();
#ifdef _WIN32
  SKIP("Windows has no reads of pipes beside those of files");
#else
  std::array<int, 2> pipe;
  EXPECT(::pipe(pipe.data()) == 0);
  IoRing ring(8);
  std::array<std::byte, 8> into;
  for (unsigned i = 0; i < 8; ++i) ring.read(pipe[0], &into[i], 1, 0, i);
  std::jthread writer([&] {
    for (int i = 0; i < 8; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT(::write(pipe[1], "x", 1) == 1);
    }
  });
  std::array<IoRing::Done, 8> done;
  const std::size_t first = ring.wait(done, 3);
  EXPECT(first >= 3);
  EXPECT(ring.in_flight() == 8 - first);
  const std::size_t rest = ring.wait(done, 100);  // more than are in flight
  EXPECT(first + rest == 8);
  EXPECT(ring.wait(done, 3) == 0);
  writer.join();
  ::close(pipe[0]);
  ::close(pipe[1]);
#endif
}

TEST(what_was_waited_for_beyond_the_room_is_taken_later) {
  test::require_io_ring();
  const ScratchFile scratch(1 << 16);
  const File file(scratch.path());
  IoRing ring(8);
  std::array<std::byte, 8> into;
  for (unsigned i = 0; i < 8; ++i) ring.read(file.handle(), &into[i], 1, i, i);
  std::array<IoRing::Done, 3> done;
  EXPECT(ring.wait(done, 8) == 3);
  EXPECT(ring.wait(done, 8) == 3);
  EXPECT(ring.wait(done, 8) == 2);
}

TEST(registered_memory_and_files_change_nothing_but_the_cost) {
  test::require_io_ring();
  const ScratchFile scratch(1 << 20), other(1 << 12, "gz_tests.other");
  const File file(scratch.path()), unregistered(other.path());
  const DirectMemory memory(8 * 4096, 4096);
  std::vector<std::byte> elsewhere(4096);
  IoRing ring(16);
  ring.register_memory({memory.data(), 4 * 4096});
  ring.register_file(file.handle());
  for (unsigned i = 0; i < 8; ++i)  // the fourth ends where the registered memory does
    ring.read(file.handle(), memory.data() + i * 4096, 4096, i * 5000, i);
  ring.read(unregistered.handle(), elsewhere.data(), 4096, 0, 8);
  std::array<IoRing::Done, 9> done;
  EXPECT(ring.wait(done, 9) == 9);
  for (const IoRing::Done& one : done) EXPECT(one.result == 4096);
  for (unsigned i = 0; i < 8; ++i)
    EXPECT(memory.data()[i * 4096 + 4095] == ScratchFile::byte_at(i * 5000 + 4095));
  EXPECT(elsewhere[4095] == ScratchFile::byte_at(4095));
}

TEST(a_ring_of_no_entries_is_refused) {
  const std::string message = test::message_of([] { IoRing ring(0); });
  EXPECT(message.find("cannot set up a ring: ") == 0);
}

}  // namespace
}  // namespace gz
