#include <algorithm>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/gather/row_cache.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

// A row is its own number, over and over.
class NumberReader : public RowReader {
 public:
  explicit NumberReader(std::size_t row_bytes) : row_bytes_(row_bytes) {}

  GatherCounts gather(std::span<const std::int64_t> rows, std::byte* out) override {
    if (fail_from && rows.back() >= *fail_from) throw std::runtime_error("no more");
    const std::lock_guard lock(mutex_);
    for (const std::int64_t row : rows) {
      read.push_back(row);
      for (std::size_t i = 0; i < row_bytes_; ++i) *out++ = byte_of(row, i);
    }
    return {.rows = rows.size()};
  }

  static std::byte byte_of(std::int64_t row, std::size_t i) {
    return static_cast<std::byte>(row >> i % 8 * 8);
  }

  std::optional<std::int64_t> fail_from;  // a row
  std::vector<std::int64_t> read;

 private:
  std::size_t row_bytes_;
  std::mutex mutex_;
};

bool is_row(const std::byte* found, std::int64_t row, std::size_t row_bytes) {
  for (std::size_t i = 0; i < row_bytes; ++i)
    if (found[i] != NumberReader::byte_of(row, i)) return false;
  return true;
}

TEST(chosen_rows_are_counted_as_in_a_list) {
  for (const std::uint64_t num_rows : {1u, 63u, 64u, 65u, 1000u}) {
    for (const std::uint64_t odds : {0u, 1u, 50u, 99u, 100u}) {
      ChosenRows chosen(num_rows);
      Rng rng(2, {num_rows, odds});
      std::vector<std::uint64_t> list;
      for (std::uint64_t row = 0; row < num_rows; ++row) {
        if (rng.below(100) >= odds) continue;
        chosen.choose(row);
        list.push_back(row);
      }
      EXPECT(chosen.count() == list.size());
      std::vector<std::uint64_t> listed;
      chosen.for_each(0, chosen.end(), [&](std::uint64_t row) { listed.push_back(row); });
      EXPECT(listed == list);
      listed.clear();
      const std::uint64_t first = num_rows / 3, last = num_rows - num_rows / 4;
      chosen.for_each(first, last, [&](std::uint64_t row) { listed.push_back(row); });
      std::vector<std::uint64_t> between = list;
      std::erase_if(between, [&](std::uint64_t row) { return row < first || row >= last; });
      EXPECT(listed == between);
      std::uint64_t rank = 0;
      bool right = true;
      for (std::uint64_t row = 0; row < num_rows; ++row) {
        const bool is_chosen = rank < list.size() && list[rank] == row;
        right = right && chosen.has(row) == is_chosen && chosen.rank(row) == rank;
        if (is_chosen) ++rank;
      }
      EXPECT(right);
    }
  }
}

void fill(RowCache& cache, RowReader& reader) {
  for (std::size_t part = cache.begin_part(); part < cache.num_parts(); part = cache.begin_part())
    cache.fill(reader, part);
}

TEST(a_prefix_is_found_and_nothing_behind_it) {
  const RowLayout layout = {0, 12, 1000};
  RowCache cache(layout, RowSet(0, 300));
  NumberReader reader(12);
  EXPECT(!cache.is_filled());
  fill(cache, reader);
  EXPECT(cache.is_filled() && cache.count() == 300 && cache.counts().rows == 300);
  bool right = true;
  for (std::int64_t row = 0; row < 300; ++row)
    right = right && is_row(cache.find(static_cast<std::uint64_t>(row)), row, 12);
  EXPECT(right);
  EXPECT(cache.find(300) == nullptr && cache.find(999) == nullptr);
}

TEST(chosen_rows_are_found_and_no_others) {
  const RowLayout layout = {0, 3, 1 << 20};
  ChosenRows chosen(layout.num_rows);
  for (std::uint64_t row = 5; row < layout.num_rows; row += 7) chosen.choose(row);
  RowCache cache(layout, RowSet(std::move(chosen)));
  NumberReader reader(3);
  fill(cache, reader);
  EXPECT(cache.is_filled());
  bool right = true;
  for (std::uint64_t row = 0; row < layout.num_rows; row += 3) {
    const std::byte* const found = cache.find(row);
    right = right &&
            (row % 7 == 5 ? found != nullptr && is_row(found, static_cast<std::int64_t>(row), 3)
                          : found == nullptr);
  }
  EXPECT(right);
}

TEST(an_empty_cache_is_full_and_finds_nothing) {
  RowCache cache({0, 8, 10}, RowSet());
  NumberReader reader(8);
  EXPECT(cache.is_filled());
  fill(cache, reader);
  EXPECT(reader.read.empty() && cache.find(0) == nullptr);
}

// A part has 16 MB.
TEST(a_part_that_could_not_be_read_is_read_again_and_no_other) {
  constexpr std::size_t kRowBytes = 1000, kOfPart = (16 << 20) / kRowBytes, kCount = 3 * kOfPart;
  const RowLayout layout = {0, kRowBytes, 2 * kCount};
  for (const std::uint64_t step : {1u, 2u}) {
    std::optional<RowCache> cache;
    if (step == 1) {
      cache.emplace(layout, RowSet(5, 5 + kCount));
    } else {
      ChosenRows chosen(layout.num_rows);
      for (std::uint64_t i = 0; i < kCount; ++i) chosen.choose(i * step);
      cache.emplace(layout, RowSet(std::move(chosen)));
    }
    EXPECT(cache->num_parts() >= 3 && cache->num_parts() <= 4);
    NumberReader reader(kRowBytes);
    EXPECT(cache->begin_part() == 0 && cache->begin_part() == 1 && cache->begin_part() == 2);
    cache->fill(reader, 0);
    const std::size_t of_first = reader.read.size();
    reader.fail_from = 0;
    EXPECT(test::message_of([&] { cache->fill(reader, 2); }) == "no more");
    EXPECT(!cache->is_filled());
    reader.fail_from.reset();
    cache->fill(reader, 1);
    EXPECT(!cache->is_filled());
    EXPECT(cache->begin_part() == 2);
    cache->fill(reader, 2);
    fill(*cache, reader);
    EXPECT(cache->is_filled() && cache->begin_part() == cache->num_parts());
    EXPECT(reader.read.size() == kCount && of_first < kCount / 2);  // none of them twice
    EXPECT(cache->counts().rows == kCount);
    bool right = true;
    for (std::uint64_t i = 0; i < kCount; i += 7) {
      const std::uint64_t row = step == 1 ? i + 5 : i * step;
      right = right && cache->has(row) &&
              is_row(cache->find(row), static_cast<std::int64_t>(row), kRowBytes);
    }
    EXPECT(right && !cache->has(step == 1 ? 4 : 1));
  }
}

}  // namespace
}  // namespace gz
