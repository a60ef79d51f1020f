#include <bit>
#include <cstdio>
#include <filesystem>

#include "core/base/direct_file.h"
#include "core/base/error.h"
#include "tests/cpp/check.h"
#include "tests/cpp/platform.h"
#include "tests/cpp/scratch_file.h"

namespace gz {
namespace {

TEST(a_direct_file_reads_up_to_the_end_in_its_last_block) {
  test::require_direct_reads();
  const ScratchFile scratch(10000);
  const File file(scratch.path());
  const DirectFile direct(file);
  EXPECT(std::has_single_bit(direct.alignment()));
  const DirectMemory memory(8192, 4096);
  direct.read_at({memory.data(), 8192}, 10000 - 8192, 8192);
  bool equal = true;
  for (std::size_t i = 0; i < 10000 - 8192; ++i)
    equal = equal && memory.data()[i] == ScratchFile::byte_at(8192 + i);
  EXPECT(equal);
}

TEST(a_direct_read_goes_on_behind_what_is_there) {
  test::require_direct_reads();
  const ScratchFile scratch(16384);
  const File file(scratch.path());
  const DirectFile direct(file);
  const DirectMemory memory(16384, 4096);
  std::fill(memory.data(), memory.data() + 16384, std::byte{0});
  direct.read_at({memory.data(), 16384}, 16384, 0, 9000);  // block 2 is read again, block 0 not
  EXPECT(memory.data()[100] == std::byte{0});
  EXPECT(memory.data()[9000] == ScratchFile::byte_at(9000));
  EXPECT(memory.data()[16383] == ScratchFile::byte_at(16383));
}

TEST(a_direct_file_that_ends_early_is_named_with_its_end) {
  test::require_direct_reads();
  const ScratchFile scratch(20000);
  const File file(scratch.path());
  const DirectFile direct(file);
  std::filesystem::resize_file(scratch.path(), 9000);
  const DirectMemory memory(8192, 4096);
  const std::string cut =
      test::message_of([&] { direct.read_at({memory.data(), 8192}, 8192, 8192); });
  EXPECT(cut.find("file ends at byte 9000, expected 7384 more bytes there") == 0);
  const std::string gone =
      test::message_of([&] { direct.read_at({memory.data(), 4096}, 4096, 12288); });
  EXPECT(gone.find("file ends at byte 12288, expected 4096 more bytes there") == 0);
}

TEST(a_direct_file_is_the_same_file_under_any_name) {
  test::require_direct_reads();
  if (test::is_wine()) SKIP("under wine a file that is open keeps its name when it is removed");
  const ScratchFile scratch(4096);
  const File file(scratch.path());
  std::filesystem::remove(scratch.path());
  const ScratchFile other(4095);
  const DirectFile direct(file);
  const DirectMemory memory(4096, 4096);
  direct.read_at({memory.data(), 4096}, 4096, 0);
  EXPECT(memory.data()[4095] == ScratchFile::byte_at(4095));
}

TEST(an_unaligned_direct_read_names_its_offset) {
  test::require_direct_reads();
  if (test::is_wine()) SKIP("wine reads at any place");
  const ScratchFile scratch(8192);
  const File file(scratch.path());
  const DirectFile direct(file);
  const DirectMemory memory(4096, 4096);
  const std::string message =
      test::message_of([&] { direct.read_at({memory.data(), 4096}, 4096, 1001); });
  EXPECT(message == "cannot read 4096 bytes at byte 1001: Invalid argument");
}

TEST(a_file_in_memory_is_not_read_directly) {
  if (!test::kIsLinux) SKIP("/dev/shm is Linux's");
  const ScratchFile scratch(4096, "/dev/shm/gz_tests.scratch");
  const File file(scratch.path());
  const std::string message = test::message_of([&] { const DirectFile direct(file); });
  EXPECT(message == "cannot be read past the page cache: it lies in memory (tmpfs)");
}

}  // namespace
}  // namespace gz
