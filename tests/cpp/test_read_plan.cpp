#include <algorithm>
#include <random>
#include <vector>

#include "core/gather/read_plan.h"
#include "tests/cpp/check.h"
#include "tests/cpp/scratch_file.h"

namespace gz {
namespace {

ReadPlan plan_for(const std::vector<std::int64_t>& rows, const RowLayout& layout,
                  const PlanOptions& options = {}) {
  const std::uint64_t end = layout.begin_of(layout.num_rows);
  return ReadPlan(rows, layout, end, options);
}

// Reads the plan from a file that is where its bytes say, and compares every row.
bool gathers(const std::vector<std::int64_t>& rows, const RowLayout& layout,
             const PlanOptions& options) {
  const ReadPlan plan = plan_for(rows, layout, options);
  std::vector<std::byte> out(rows.size() * layout.row_bytes);
  std::vector<std::byte> bytes;
  std::uint64_t end_before = 0;
  for (const ReadPlan::Read& read : plan.reads()) {
    const bool legal = read.offset % options.block == 0 && read.length % options.block == 0 &&
                       read.length <= options.most && read.length <= plan.largest() &&
                       read.offset >= end_before && read.first < read.last;
    if (!legal) return false;
    end_before = read.offset + read.length;
    bytes.assign(read.length, std::byte{0});
    for (std::uint64_t i = 0; i < read.needed; ++i)
      bytes[i] = ScratchFile::byte_at(read.offset + i);
    plan.copy_rows(read, bytes.data(), out.data());
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint64_t begin = layout.begin_of(static_cast<std::uint64_t>(rows[i]));
    for (std::uint64_t at = 0; at < layout.row_bytes; ++at) {
      if (out[i * layout.row_bytes + at] != ScratchFile::byte_at(begin + at)) return false;
    }
  }
  return true;
}

TEST(a_plan_brings_every_row_to_its_place) {
  std::mt19937 rng(1);
  for (const std::uint64_t row_bytes : {1u, 2u, 12u, 100u, 512u, 4096u, 5000u, 40000u}) {
    for (const std::uint64_t data_offset : {std::uint64_t{32}, std::uint64_t{4096}}) {
      const RowLayout layout = {data_offset, row_bytes, 300};
      std::vector<std::int64_t> rows(200);
      for (std::int64_t& row : rows) row = static_cast<std::int64_t>(rng() % 300);
      for (const PlanOptions& options :
           {PlanOptions{}, PlanOptions{512, 0, 4096}, PlanOptions{4096, 8192, 8192},
            PlanOptions{4096, 8192, 65536}, PlanOptions{4096, 65536, 131072}}) {
        EXPECT(gathers(rows, layout, options));
      }
    }
  }
}

TEST(rows_that_share_a_block_are_one_read) {
  const ReadPlan plan = plan_for({19, 3, 3, 2}, {4096, 512, 100});
  EXPECT(plan.reads().size() == 2);  // rows 2 and 3; row 19
  EXPECT(plan.counts().rows == 4);
  EXPECT(plan.counts().unique_rows == 3);
  EXPECT(plan.counts().device_reads == 2);
  EXPECT(plan.counts().device_bytes == 8192);
}

TEST(blocks_side_by_side_are_one_read_and_those_apart_are_not) {
  const RowLayout layout = {0, 4096, 100};
  const ReadPlan touching = plan_for({1, 2}, layout);
  EXPECT(touching.reads().size() == 1 && touching.reads()[0].length == 8192);
  const ReadPlan apart = plan_for({1, 3}, layout);
  EXPECT(apart.reads().size() == 2);
  const ReadPlan bridged = plan_for({1, 3}, layout, {4096, 4096, 1 << 20});
  EXPECT(bridged.reads().size() == 1 && bridged.reads()[0].length == 3 * 4096);
}

TEST(gaps_are_bridged_up_to_their_width) {
  const RowLayout layout = {0, 4096, 100};
  const ReadPlan plan = plan_for({1, 4, 8, 9}, layout, {4096, 8192, 1 << 20});
  EXPECT(plan.reads().size() == 2);  // 2 blocks between 1 and 4, 3 between 4 and 8
  EXPECT(plan.reads()[0].offset == 4096 && plan.reads()[0].length == 4 * 4096);
  EXPECT(plan.reads()[1].offset == 8 * 4096 && plan.reads()[1].length == 2 * 4096);
  EXPECT(plan.counts().device_bytes == 6 * 4096);
}

TEST(where_a_read_is_full_its_gap_is_not_read) {
  const RowLayout layout = {0, 4096, 100};
  const ReadPlan plan = plan_for({0, 1, 2, 4, 5}, layout, {4096, 8192, 4 * 4096});
  EXPECT(plan.reads().size() == 2);
  EXPECT(plan.reads()[0].length == 3 * 4096);
  EXPECT(plan.reads()[1].offset == 4 * 4096 && plan.reads()[1].length == 2 * 4096);
}

TEST(a_long_run_is_cut) {
  std::vector<std::int64_t> rows(100);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
  const ReadPlan plan = plan_for(rows, {0, 4096, 100}, {4096, 0, 16384});
  EXPECT(plan.reads().size() == 25);
  EXPECT(plan.largest() == 16384);
}

TEST(the_last_block_needs_no_more_than_the_file_has) {
  const ReadPlan plan = plan_for({99}, {32, 100, 100});
  EXPECT(plan.reads().size() == 1);
  EXPECT(plan.reads()[0].offset == 8192);
  EXPECT(plan.reads()[0].length == 4096);
  EXPECT(plan.reads()[0].needed == 32 + 100 * 100 - 8192);
}

TEST(a_plan_for_nothing_reads_nothing) {
  EXPECT(plan_for({}, {4096, 8, 10}).reads().empty());
  EXPECT(plan_for({1, 2}, {4096, 0, 10}).reads().empty());
}

}  // namespace
}  // namespace gz
