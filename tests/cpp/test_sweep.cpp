#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/gather/sweep.h"
#include "tests/cpp/check.h"
#include "tests/cpp/scratch_file.h"

namespace gz {
namespace {

using Slot = Sweep::Slot;

// A file of rows whose bytes follow from their places.
struct Rows {
  Rows(std::uint64_t row_bytes, std::uint64_t num_rows, std::string name = "gz_tests.sweep")
      : layout{4099, row_bytes, num_rows},
        scratch(layout.begin_of(num_rows) + 5, std::move(name)),
        file(scratch.path()) {}

  Sweep::Source source(std::size_t slots, std::uint64_t gap = 8192) const {
    return {std::make_shared<const DirectFile>(file), layout, file.size(), gap, slots};
  }
  bool is_row(const std::byte* bytes, std::int64_t row) const {
    const std::uint64_t begin = layout.begin_of(static_cast<std::uint64_t>(row));
    for (std::uint64_t i = 0; i < layout.row_bytes; ++i)
      if (bytes[i] != ScratchFile::byte_at(begin + i)) return false;
    return true;
  }

  RowLayout layout;
  ScratchFile scratch;
  File file;
};

// Wakes threads that wait for rows.
class Progress {
 public:
  void notify() {
    {
      const std::lock_guard lock(mutex_);
    }
    changed_.notify_all();
  }
  // Whether the rows came before long.
  bool wait(const Sweep& sweep, std::uint64_t due, int milliseconds = 20000) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(milliseconds),
                             [&] { return sweep.is_there(due); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

std::vector<Sweep::Source> sources_of(std::initializer_list<Sweep::Source> sources) {
  return sources;
}

std::vector<std::int64_t> random_rows(Rng& rng, std::size_t count, std::uint64_t num_rows) {
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < count; ++i)
    rows.push_back(static_cast<std::int64_t>(rng.below(num_rows)));
  return rows;
}

// Returns how many rows found no slot.
std::size_t take_turns(Sweep& sweep, Progress& progress, std::initializer_list<const Rows*> files,
                       Rng rng, int turns) {
  std::size_t refused = 0;
  bool right = true;
  for (int turn = 0; turn < turns; ++turn) {
    std::uint64_t due = 0;
    std::vector<std::vector<std::int64_t>> rows;
    std::vector<std::vector<Slot>> slots;
    for (const Rows* const file : files) {
      rows.push_back(random_rows(rng, 1 + rng.below(40), file->layout.num_rows));
      slots.emplace_back(rows.back().size());
      sweep.reserve(rows.size() - 1, rows.back(), slots.back(), due);
    }
    right = right && progress.wait(sweep, due);
    std::size_t source = 0;
    for (const Rows* const file : files) {
      for (std::size_t i = 0; i < rows[source].size(); ++i) {
        const Slot slot = slots[source][i];
        if (slot == RowSlots::kNone) {
          ++refused;
        } else {
          right = right && file->is_row(sweep.row(source, slot), rows[source][i]);
        }
      }
      sweep.release(source, slots[source]);
      ++source;
    }
  }
  EXPECT(right);
  return refused;
}

TEST(rows_that_threads_reserve_are_those_of_the_files) {
  const Rows odd(333, 20000), large(10007, 300, "gz_tests.sweep_large");
  for (const bool use_ring : {true, false}) {
    Progress progress;
    Sweep sweep(sources_of({odd.source(100), large.source(60)}), use_ring,
                [&] { progress.notify(); });
    std::atomic<std::size_t> refused{0};
    {
      std::vector<std::jthread> threads;
      for (std::uint64_t t = 0; t < 4; ++t) {
        threads.emplace_back(
            [&, t] { refused += take_turns(sweep, progress, {&odd, &large}, Rng(4, {t}), 25); });
      }
    }
    EXPECT(refused > 0);  // they shared too few slots, and all of that was right
    EXPECT(sweep.num_free(0) == 100 && sweep.num_free(1) == 60);
    const Sweep::Counts counts = sweep.counts();
    EXPECT(counts.rows > 0 && counts.reads > 0 && counts.waits > 0);
    EXPECT(counts.bytes >= counts.row_bytes);
  }
}

TEST(rows_of_one_byte_and_of_a_megabyte_are_read) {
  const Rows tiny(1, 100000), huge(1'000'003, 5, "gz_tests.sweep_large");
  Progress progress;
  Sweep sweep(sources_of({tiny.source(64), huge.source(2)}), true, [&] { progress.notify(); });
  take_turns(sweep, progress, {&tiny, &huge}, Rng(5, {1}), 10);
}

TEST(one_slot_serves_row_after_row) {
  const Rows rows(129, 5000);
  for (const bool use_ring : {true, false}) {
    Progress progress;
    Sweep sweep(sources_of({rows.source(1)}), use_ring, [&] { progress.notify(); });
    bool right = true;
    for (std::int64_t i = 0; i < 200; ++i) {
      const std::int64_t row = i * 2999 % 5000;
      Slot slot;
      std::uint64_t due = 0;
      sweep.reserve(0, {&row, 1}, {&slot, 1}, due);
      right =
          right && slot == 0 && progress.wait(sweep, due) && rows.is_row(sweep.row(0, slot), row);
      sweep.release(0, {&slot, 1});
    }
    EXPECT(right);
  }
}

TEST(a_row_that_several_need_is_read_once_and_kept_for_the_last) {
  const Rows rows(512, 1000);
  Progress progress;
  Sweep sweep(sources_of({rows.source(10)}), true, [&] { progress.notify(); });
  const std::vector<std::int64_t> wanted = {7, 900, 7};
  std::vector<Slot> first(3), second(3);
  std::uint64_t due_first = 0, due_second = 0;
  sweep.reserve(0, wanted, first, due_first);
  sweep.reserve(0, wanted, second, due_second);
  EXPECT(first == second && first[0] == first[2] && first[0] != first[1]);
  EXPECT(due_first == due_second);
  EXPECT(progress.wait(sweep, due_second));
  EXPECT(sweep.counts().rows == 2 && sweep.counts().shared == 4);
  sweep.release(0, first);
  EXPECT(sweep.num_free(0) == 8);
  EXPECT(rows.is_row(sweep.row(0, second[1]), 900));
  sweep.release(0, second);
  EXPECT(sweep.num_free(0) == 10);
}

TEST(rows_beyond_the_slots_get_none) {
  const Rows rows(100, 1000);
  Progress progress;
  Sweep sweep(sources_of({rows.source(4)}), true, [&] { progress.notify(); });
  std::vector<std::int64_t> wanted = {1, 2, 3, 4, 5, 6, 4};
  std::vector<Slot> slots(7);
  std::uint64_t due = 0;
  sweep.reserve(0, wanted, slots, due);
  EXPECT(std::count(slots.begin(), slots.end(), RowSlots::kNone) == 2);
  EXPECT(slots[4] == RowSlots::kNone && slots[5] == RowSlots::kNone && slots[6] == slots[3]);
  EXPECT(sweep.num_free(0) == 0);
  EXPECT(progress.wait(sweep, due));
  sweep.release(0, slots);
  EXPECT(sweep.num_free(0) == 4);
}

// Rows of 64 kB: four make a section.
TEST(without_hurry_a_sweep_ends_and_the_next_one_waits) {
  const Rows rows(64 << 10, 32);
  Progress progress;
  Sweep sweep(sources_of({rows.source(10)}), true, [&] { progress.notify(); });
  const auto reserve = [&](std::int64_t row) {
    Slot slot;
    std::uint64_t due = 0;
    sweep.reserve(0, {&row, 1}, {&slot, 1}, due);
    return due;
  };
  sweep.set_hurry(false);
  const std::uint64_t at_the_start = reserve(5);
  EXPECT(!progress.wait(sweep, at_the_start, 50));
  sweep.set_hurry(true);
  EXPECT(progress.wait(sweep, at_the_start));
  sweep.set_hurry(false);
  EXPECT(progress.wait(sweep, reserve(20)));  // ahead of the current section
  const std::uint64_t behind = reserve(0);
  EXPECT(behind > at_the_start);
  EXPECT(!progress.wait(sweep, behind, 50));
  sweep.set_hurry(true);
  EXPECT(progress.wait(sweep, behind));
}

TEST(rows_side_by_side_are_one_read) {
  const Rows rows(512, 4000);
  Progress progress;
  Sweep sweep(sources_of({rows.source(200, /*gap=*/0)}), true, [&] { progress.notify(); });
  sweep.set_hurry(false);
  std::vector<std::int64_t> wanted;
  for (std::int64_t row = 0; row < 64; ++row) wanted.push_back(row);  // 32 kB
  for (std::int64_t row = 300; row < 400; row += 50) wanted.push_back(row);
  std::vector<Slot> slots(wanted.size());
  std::uint64_t due = 0;
  sweep.reserve(0, wanted, slots, due);
  sweep.set_hurry(true);
  EXPECT(progress.wait(sweep, due));
  EXPECT(sweep.counts().reads == 3);
  EXPECT(sweep.counts().row_bytes == 66 * 512);
}

TEST(the_end_of_a_file_that_shrank_reaches_those_who_wait) {
  for (const bool use_ring : {true, false}) {
    const Rows rows(512, 2000);
    Progress progress;
    Sweep sweep(sources_of({rows.source(10)}), use_ring, [&] { progress.notify(); });
    std::vector<std::int64_t> wanted = {1};
    std::vector<Slot> slots(1);
    std::uint64_t before = 0, due = 0;
    sweep.reserve(0, wanted, slots, before);
    EXPECT(progress.wait(sweep, before));
    std::filesystem::resize_file(rows.scratch.path(), 100'000);
    wanted[0] = 1500;
    sweep.reserve(0, wanted, slots, due);
    const std::string message = test::message_of([&] { progress.wait(sweep, due); });
    EXPECT(message.find("file ends at byte ") == 0);
    EXPECT(message.find("write files anew beside the old one") != std::string::npos);
    EXPECT(sweep.is_there(before));
    EXPECT(test::message_of([&] { sweep.is_there(due); }) == message);
  }
}

TEST(a_sweep_may_go_while_it_reads) {
  const Rows rows(4096, 2000);
  for (int repeat = 0; repeat < 10; ++repeat) {
    Sweep sweep(sources_of({rows.source(1000)}), repeat % 2 == 0, [] {});
    Rng rng(6, {static_cast<std::uint64_t>(repeat)});
    const std::vector<std::int64_t> wanted = random_rows(rng, 900, 2000);
    std::vector<Slot> slots(wanted.size());
    std::uint64_t due = 0;
    sweep.reserve(0, wanted, slots, due);
    if (repeat % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(a_sweep_over_no_rows_has_nothing_to_do) {
  const Rows rows(8, 0);
  Sweep sweep(sources_of({rows.source(0)}), true, [] {});
  std::uint64_t due = 0;
  sweep.reserve(0, {}, {}, due);
  EXPECT(due == 0 && sweep.is_there(due));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT(sweep.counts().reads == 0);
}

}  // namespace
}  // namespace gz
