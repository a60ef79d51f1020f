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
#include "tests/cpp/platform.h"
#include "tests/cpp/scratch_file.h"

namespace gz {
namespace {

// A file of rows whose bytes follow from their places.
struct Rows {
  Rows(std::uint64_t row_bytes, std::uint64_t num_rows, std::string name = "gz_tests.sweep")
      : layout{4099, row_bytes, num_rows},
        scratch(layout.begin_of(num_rows) + 5, std::move(name)),
        file(scratch.path()) {}

  Sweep::Source source(std::uint64_t gap = 8192) const {
    return {std::make_shared<const DirectFile>(file), layout, file.size(), gap};
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
  bool wait(const Sweep& sweep, const RowRequest& request, int milliseconds = 20000) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(milliseconds), [&] {
      if (request.is_ready()) return true;
      sweep.check();
      return false;
    });
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

Sweep::Options options_of(Progress& progress, std::size_t chunks, std::size_t chunk_bytes,
                          bool use_ring = true, std::size_t threads = 1) {
  Sweep::Options options;
  options.use_ring = use_ring;
  options.threads = threads;
  options.chunks = chunks;
  options.chunk_bytes = chunk_bytes;
  options.on_progress = [&] { progress.notify(); };
  return options;
}

struct Asked {
  Asked(Sweep& asked, std::size_t of, std::vector<std::int64_t> wanted, std::uint64_t batch = 0)
      : sweep(&asked),
        source(of),
        rows(std::move(wanted)),
        request(asked.request(of, batch, rows)) {}

  // Takes what has arrived. How many rows found no memory, if the others are those of the file.
  std::size_t take(const Rows& file) {
    sweep->protect(*request);
    std::vector<std::int64_t> by_index(rows.size());
    request->for_each_index(rows,
                            [&](std::size_t i, std::uint32_t index) { by_index[index] = rows[i]; });
    std::size_t left_out = 0;
    bool right = true;
    while (request->rows_to_take() > 0) {
      const RowRequest::Part part = request->take();
      for (std::uint32_t i = request->begin(part.section); i < request->end(part.section); ++i) {
        const auto row = static_cast<std::int64_t>(request->row(part.section, i));
        right = right && row == by_index[i];
        right = right && (!part.has_memory || file.is_row(request->place(i), row));
        left_out += part.has_memory ? 0 : 1;
      }
      request->taken(part.section);
    }
    sweep->memory_came_back();
    EXPECT(right);
    return left_out;
  }

  // Takes all. How many found no memory.
  std::size_t take_all(const Rows& file, Progress& progress, bool memory_comes = false) {
    for (int i = 0; i < 5000 && !request->is_ready(); ++i) {
      sweep->set_haste({sweep->num_arrived(), false, memory_comes});
      progress.wait(*sweep, *request, 1);
    }
    const std::size_t left_out = take(file);
    EXPECT(request->is_all_taken());
    return left_out;
  }

  void release() { sweep->release(source, std::move(request)); }

  Sweep* sweep;
  std::size_t source;
  std::vector<std::int64_t> rows;
  std::shared_ptr<RowRequest> request;
};

// The sweep is told that this is how things are now.
void set_haste(Sweep& sweep, bool is_early, bool memory_comes) {
  sweep.set_haste({sweep.num_arrived(), is_early, memory_comes});
}

// Returns how many rows found no memory.
std::size_t take_turns(Sweep& sweep, Progress& progress, std::initializer_list<const Rows*> files,
                       Rng rng, int turns) {
  std::size_t left_out = 0;
  for (int turn = 0; turn < turns; ++turn) {
    std::vector<Asked> asked;
    for (const Rows* const file : files) {
      asked.emplace_back(sweep, asked.size(),
                         random_rows(rng, 1 + rng.below(40), file->layout.num_rows));
    }
    std::size_t source = 0;
    for (const Rows* const file : files) {
      left_out += asked[source].take_all(*file, progress);
      asked[source++].release();
    }
  }
  return left_out;
}

TEST(rows_that_threads_ask_for_are_those_of_the_files) {
  test::require_direct_reads();
  const Rows odd(333, 20000), large(10007, 300, "gz_tests.sweep_large");
  for (const std::size_t threads : {1u, 3u}) {
    for (const bool use_ring : {true, false}) {
      Progress progress;
      Sweep sweep(sources_of({odd.source(), large.source()}),
                  options_of(progress, 30, 10007, use_ring, threads));
      std::atomic<std::size_t> left_out{0};
      {
        std::vector<std::jthread> askers;
        for (std::uint64_t t = 0; t < 4; ++t) {
          askers.emplace_back(
              [&, t] { left_out += take_turns(sweep, progress, {&odd, &large}, Rng(4, {t}), 25); });
        }
      }
      const Sweep::Counts counts = sweep.counts();
      EXPECT(counts.left_out == left_out);
      EXPECT(counts.rows > 0 && counts.reads > 0 && counts.waits > 0);
      EXPECT(counts.bytes >= counts.row_bytes);
      // All memory is back: each row has a chunk of its own.
      Asked last(sweep, 1, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
      EXPECT(last.take_all(large, progress) == 0);
    }
  }
}

TEST(rows_of_one_byte_and_of_a_megabyte_are_read) {
  test::require_direct_reads();
  const Rows tiny(1, 100000), huge(1'000'003, 5, "gz_tests.sweep_large");
  Progress progress;
  Sweep sweep(sources_of({tiny.source(), huge.source()}), options_of(progress, 90, 1'000'003));
  EXPECT(take_turns(sweep, progress, {&tiny, &huge}, Rng(5, {1}), 10) == 0);
}

TEST(a_row_that_several_need_at_once_is_read_once) {
  test::require_direct_reads();
  const Rows rows(512, 100'000);
  Progress progress;
  Sweep sweep(sources_of({rows.source()}), options_of(progress, 10, 4096));
  set_haste(sweep, /*is_early=*/true, false);  // until both have asked
  Asked first(sweep, 0, {7, 90'000, 7}, 100);
  Asked second(sweep, 0, {7, 90'000, 7}, 101);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT(sweep.counts().reads == 0);
  set_haste(sweep, false, false);
  EXPECT(first.take_all(rows, progress) == 0 && second.take_all(rows, progress) == 0);
  EXPECT(sweep.counts().rows == 2 && sweep.counts().shared == 4);
}

TEST(the_first_batch_goes_on_without_a_section_that_finds_no_memory) {
  test::require_direct_reads();
  const Rows rows(100, 1000);
  Progress progress;
  Sweep sweep(sources_of({rows.source()}), options_of(progress, 2, 100));
  Asked asked(sweep, 0, {1, 2, 3}, 8);
  EXPECT(asked.take_all(rows, progress) == 3);
  EXPECT(sweep.counts().left_out == 3);
  asked.release();
  Asked again(sweep, 0, {1, 2}, 8);
  EXPECT(again.take_all(rows, progress) == 0);
}

// Rows of one section each; three of them fit beside what is kept for the first batch.
TEST(later_batches_wait_while_memory_comes_back) {
  test::require_direct_reads();
  const Rows rows(4096, 1000);
  Progress progress;
  Sweep sweep(sources_of({rows.source()}), options_of(progress, 5, 4096));
  Asked first(sweep, 0, {1, 100, 200}, 8);
  EXPECT(progress.wait(sweep, *first.request));
  set_haste(sweep, false, /*memory_comes=*/true);
  Asked second(sweep, 0, {300, 400}, 9);
  Asked third(sweep, 0, {500, 600, 700}, 10);
  EXPECT(!progress.wait(sweep, *third.request, 50));
  EXPECT(sweep.is_short() && sweep.counts().dropped == 0);
  EXPECT(first.take(rows) == 0);
  EXPECT(second.take_all(rows, progress, true) == 0);
  EXPECT(third.take_all(rows, progress, true) == 0);
}

TEST(the_last_batch_gives_way_if_no_memory_comes_back) {
  test::require_direct_reads();
  const Rows rows(4096, 10'000);
  Progress progress;
  Sweep sweep(sources_of({rows.source()}), options_of(progress, 6, 4096));
  // The second takes all memory but what is kept, then the first one needs it.
  std::vector<std::int64_t> spread;
  for (std::int64_t i = 0; i < 8; ++i) spread.push_back(1000 * i);
  Asked second(sweep, 0, {1, 1001, 2001, 9999}, 9);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  set_haste(sweep, true, false);
  Asked first(sweep, 0, spread, 8);
  sweep.protect(*first.request);
  std::size_t left_out = 0;
  while (!first.request->is_all_taken()) {
    set_haste(sweep, false, false);
    progress.wait(sweep, *first.request, 1);
    left_out += first.take(rows);
  }
  EXPECT(left_out == 0);
  first.release();
  EXPECT(second.take_all(rows, progress) == 0);
}

TEST(what_is_dropped_is_wanted_again) {
  const auto chunks = std::make_shared<RowChunks>(4, 8);
  const std::vector<std::int64_t> rows = {0, 17, 33, 34};
  RowRequest request(3, rows, {4, 3}, 8, chunks);
  EXPECT(request.claim(0) && request.claim(2) && chunks->num_free() == 1);
  EXPECT(!request.can_drop());  // being read
  request.arrive(0);
  EXPECT(!request.can_drop());
  request.arrive(2);
  EXPECT(request.can_drop() && request.rows_to_take() == 3);
  std::vector<std::size_t> dropped;
  request.drop([&](std::size_t section) { dropped.push_back(section); });
  EXPECT((dropped == std::vector<std::size_t>{0, 2}));
  EXPECT(chunks->num_free() == 4 && request.rows_to_take() == 0 && !request.can_drop());
  EXPECT(request.wants(0) && request.wants(1) && request.wants(2) && !request.is_ready());
  EXPECT(request.claim(1));
  request.arrive(1);
  request.protect();
  EXPECT(!request.can_drop());
  EXPECT(request.take().section == 1 && chunks->num_free() == 3);
  request.taken(1);
  EXPECT(chunks->num_free() == 4);
}

TEST(what_is_released_before_it_is_there_is_not_read) {
  test::require_direct_reads();
  const Rows rows(100, 1000);
  Progress progress;
  Sweep sweep(sources_of({rows.source()}), options_of(progress, 4, 100));
  set_haste(sweep, true, false);
  Asked waits(sweep, 0, {6}, 1);
  waits.release();
  set_haste(sweep, false, false);
  Asked next(sweep, 0, {7}, 2);
  EXPECT(next.take_all(rows, progress) == 0);
  EXPECT(sweep.counts().rows == 1);
}

TEST(rows_side_by_side_are_one_read) {
  test::require_direct_reads();
  const Rows rows(512, 400);
  Progress progress;
  Sweep sweep(sources_of({rows.source(/*gap=*/0)}), options_of(progress, 100, 4096));
  std::vector<std::int64_t> wanted;
  for (std::int64_t row = 0; row < 64; ++row) wanted.push_back(row);  // 32 kB
  for (std::int64_t row = 300; row < 400; row += 50) wanted.push_back(row);
  const Asked asked(sweep, 0, wanted);
  EXPECT(progress.wait(sweep, *asked.request));
  EXPECT(sweep.counts().reads == 3);
  EXPECT(sweep.counts().row_bytes == 66 * 512);
  EXPECT(sweep.turns() > 0);
}

TEST(the_end_of_a_file_that_shrank_reaches_those_who_wait) {
  test::require_direct_reads();
  for (const bool use_ring : {true, false}) {
    const Rows rows(512, 2000);
    Progress progress;
    Sweep sweep(sources_of({rows.source()}), options_of(progress, 10, 512, use_ring, 2));
    Asked before(sweep, 0, {1});
    EXPECT(progress.wait(sweep, *before.request));
    std::filesystem::resize_file(rows.scratch.path(), 100'000);
    const Asked asked(sweep, 0, {1500});
    const std::string message = test::message_of([&] { progress.wait(sweep, *asked.request); });
    EXPECT(message.find("file ends at byte ") == 0);
    EXPECT(message.find("write files anew beside the old one") != std::string::npos);
    EXPECT(before.take(rows) == 0);
    EXPECT(test::message_of([&] { sweep.check(); }) == message);
  }
}

TEST(a_sweep_may_go_while_it_reads) {
  test::require_direct_reads();
  const Rows rows(4096, 2000);
  for (int repeat = 0; repeat < 10; ++repeat) {
    Progress progress;
    std::vector<Asked> asked;
    Sweep sweep(sources_of({rows.source()}), options_of(progress, 1000, 4096, repeat % 2 == 0, 2));
    Rng rng(6, {static_cast<std::uint64_t>(repeat)});
    asked.emplace_back(sweep, 0, random_rows(rng, 900, 2000));
    if (repeat % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(a_sweep_over_no_rows_has_nothing_to_do) {
  test::require_direct_reads();
  const Rows rows(8, 0);
  Progress progress;
  Sweep sweep(sources_of({rows.source()}), options_of(progress, 1, 8));
  EXPECT(Asked(sweep, 0, {}).request->is_ready());
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT(sweep.counts().reads == 0);
}

// For ThreadSanitizer: the rows of a section are there when it can be taken, whether or not it has
// been counted by then.
TEST(rows_are_taken_while_others_arrive) {
  constexpr std::size_t kSections = 64;
  constexpr std::uint64_t kRowBytes = 8;
  std::vector<std::int64_t> rows;
  for (std::size_t s = 0; s < kSections; ++s) {
    for (std::size_t i = 0; i <= s % 4; ++i) rows.push_back(static_cast<std::int64_t>(16 * s + i));
  }
  for (int round = 0; round < 300; ++round) {
    const auto chunks = std::make_shared<RowChunks>(rows.size(), kRowBytes);
    RowRequest request(0, rows, {4, kSections}, kRowBytes, chunks);
    std::thread arriving([&] {
      for (std::size_t i = 0; i < kSections; ++i) {
        const std::size_t s = 37 * i % kSections;  // behind those that are taken, too
        EXPECT(request.claim(s));
        for (std::uint32_t r = request.begin(s); r < request.end(s); ++r)
          *reinterpret_cast<std::uint64_t*>(request.place(r)) = request.row(s, r);
        request.arrive(s);
      }
    });
    while (!request.is_all_taken()) {
      if (request.rows_to_take() == 0) continue;
      const RowRequest::Part part = request.take();
      for (std::uint32_t i = request.begin(part.section); i < request.end(part.section); ++i)
        EXPECT(*reinterpret_cast<std::uint64_t*>(request.place(i)) == request.row(part.section, i));
      request.taken(part.section);
      EXPECT(request.rows_to_take() <= rows.size());
    }
    arriving.join();
  }
}

}  // namespace
}  // namespace gz
