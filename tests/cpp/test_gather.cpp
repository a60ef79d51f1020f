#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <numeric>
#include <vector>

#include "core/base/direct_file.h"
#include "core/base/error.h"
#include "core/gather/direct_reader.h"
#include "core/gather/gather.h"
#include "tests/cpp/check.h"
#include "tests/cpp/platform.h"
#include "tests/cpp/scratch_file.h"

namespace gz {
namespace {

TEST(auto_maps_what_fits_with_room_to_spare) {
  EXPECT(reader_for(49, 0, 100) == ReaderKind::kMmap);
  EXPECT(reader_for(50, 0, 100) == ReaderKind::kDirect);
  EXPECT(reader_for(1000, 900, 100) == ReaderKind::kMmap);
  EXPECT(reader_for(1000, 899, 100) == ReaderKind::kDirect);
  EXPECT(reader_for(1000, std::nullopt, 100) == ReaderKind::kDirect);
}

// A file that is cut behind the check of its size: the reader itself must see it.
TEST(readers_name_the_end_of_a_file_that_shrank_under_them) {
  test::require_direct_reads();
  const ScratchFile scratch(4096 * 1000);
  const File file(scratch.path());
  const auto direct = std::make_shared<const DirectFile>(file);
  const RowLayout layout = {4096, 512, 999 * 8};
  DirectReader ring_reader(direct, layout, file.size(), PlanOptions{}, DirectReader::By::kRing);
  DirectReader pread_reader(direct, layout, file.size(), PlanOptions{}, DirectReader::By::kThreads);
  std::filesystem::resize_file(scratch.path(), 4096 * 500);
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < 999 * 8; row += 16) rows.push_back(row);
  std::vector<std::byte> out(rows.size() * 512);
  for (RowReader* const reader : std::initializer_list<RowReader*>{&ring_reader, &pread_reader}) {
    const std::string message = test::message_of([&] { reader->gather(rows, out.data()); });
    EXPECT(message.find("file ends at byte ") == 0);
    EXPECT(message.find(", expected 4096 more bytes there") != std::string::npos);
  }
  rows.resize(200);  // what is still there is still right
  ring_reader.gather(rows, out.data());
  EXPECT(out[199 * 512] == ScratchFile::byte_at(4096 + 199 * 16 * 512));
}

TEST(options_of_a_plan_follow_the_gap) {
  test::require_direct_reads();
  const ScratchFile scratch(4096 * 100);
  const File file(scratch.path());
  const DirectFile direct(file);
  EXPECT(plan_options(direct, file.size()).gap == 8192);
  EXPECT(plan_options(direct, file.size()).most == 64 << 10);
  test::set_variable("GRAPHZERO_READ_GAP", "256kB");
  const PlanOptions wide = plan_options(direct, file.size());
  test::unset_variable("GRAPHZERO_READ_GAP");
  EXPECT(wide.gap == 256 << 10);
  EXPECT(wide.most >= wide.gap + 2 * wide.block);  // else there would be nothing to bridge
}

}  // namespace
}  // namespace gz
