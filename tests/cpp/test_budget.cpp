#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "core/base/random.h"
#include "core/pipeline/budget.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;

Needs random_needs(Rng& rng) {
  const auto up_to = [&](int bits) {
    return rng.next() >> (64 - 1 - rng.below(static_cast<std::uint64_t>(bits)));
  };
  Needs needs;
  needs.sample_bytes = up_to(28);
  needs.row_bytes = up_to(32);
  needs.swept_bytes = rng.below(4) == 0 ? 0 : up_to(42);
  needs.swept_rows = needs.swept_bytes == 0 ? 0 : up_to(24);
  needs.threads = 1 + rng.below(16);
  needs.most_samplers = rng.below(2) == 0 ? needs.threads : 1;
  if (rng.below(2) == 0) needs.cache = up_to(36);
  return needs;
}

// In the words of the error.
std::uint64_t least_of(Needs needs) {
  needs.memory = 0;
  const std::string message = test::message_of([&] { split_memory(needs); });
  const std::string opening = "memory: expected at least ";
  EXPECT(message.find(opening) == 0);
  const bool has_cache = needs.cache.value_or(0) > 0 && needs.swept_bytes > 0;
  const std::string fewer = std::string(has_cache ? "a smaller cache, " : "") + "smaller ";
  EXPECT(message.find(" MB for batches of this size, found 0 MB; give more, or use " + fewer) !=
         std::string::npos);
  return std::stoull(message.substr(opening.size())) * kMegabyte;
}

void check(const Needs& needs) {
  const Budget budget = split_memory(needs);
  // Summed piece by piece, so that nothing wraps.
  std::uint64_t left = needs.memory;
  for (const std::uint64_t part :
       {budget.working, budget.reads, budget.outputs, budget.cache, budget.window}) {
    EXPECT(part <= left);
    left -= part;
  }
  EXPECT(budget.threads == needs.threads);
  EXPECT(budget.samplers >= 1 && budget.samplers <= needs.most_samplers);
  EXPECT(budget.num_outputs >= 2 &&
         budget.num_outputs <= std::max<std::size_t>(4, needs.threads / 2));
  EXPECT(budget.outputs == budget.num_outputs * (needs.sample_bytes + needs.row_bytes));
  EXPECT(budget.window >= budget.least_window);
  EXPECT(budget.least_window >= 2 * needs.sample_bytes + 20 * needs.swept_rows);
  EXPECT(budget.reads >= 2 << 20 && budget.reads <= 8 << 20);
  if (needs.cache) {
    EXPECT(budget.cache == std::min(*needs.cache, needs.swept_bytes));
  }
  if (needs.swept_bytes == 0) EXPECT(budget.cache == 0);
}

TEST(the_parts_of_the_memory_fit_into_it) {
  Rng rng(9, {1});
  for (int i = 0; i < 2000; ++i) {
    Needs needs = random_needs(rng);
    const std::uint64_t least = least_of(needs);
    for (const std::uint64_t more : {std::uint64_t{0}, least / 3, least * 20, least * 1000}) {
      needs.memory = least + more;
      check(needs);
    }
  }
}

TEST(the_least_memory_that_is_named_is_the_least) {
  Rng rng(9, {2});
  for (int i = 0; i < 200; ++i) {
    Needs needs = random_needs(rng);
    needs.memory = least_of(needs) - kMegabyte;
    const std::string message = test::message_of([&] { split_memory(needs); });
    EXPECT(message.find("memory: expected at least ") == 0);
    EXPECT(message.find("found " + std::to_string(needs.memory / kMegabyte) + " MB") !=
           std::string::npos);
  }
}

Needs needs_of_megabytes(std::uint64_t memory, std::uint64_t row_bytes, std::uint64_t swept) {
  Needs needs;
  needs.memory = memory * kMegabyte;
  needs.sample_bytes = kMegabyte;
  needs.row_bytes = row_bytes * kMegabyte;
  needs.swept_bytes = swept * kMegabyte;
  return needs;
}

TEST(all_rows_are_cached_where_they_fit) {
  Needs needs = needs_of_megabytes(4000, 10, 1000);
  EXPECT(split_memory(needs).cache >= needs.swept_bytes);
  needs.swept_bytes *= 100;
  const Budget budget = split_memory(needs);
  EXPECT(budget.cache == 0 && budget.window > budget.least_window);  // a plan divides it
  EXPECT(budget.cache + budget.window + budget.outputs + budget.working + budget.reads ==
         needs.memory);
}

TEST(a_cache_larger_than_all_rows_is_as_large_as_they_are) {
  Needs needs = needs_of_megabytes(1000, 1, 100);
  needs.cache = std::numeric_limits<std::uint64_t>::max();
  EXPECT(split_memory(needs).cache == needs.swept_bytes);
}

TEST(as_many_threads_sample_at_once_as_memory_allows) {
  Needs needs = needs_of_megabytes(100, 1, 1000);
  needs.threads = needs.most_samplers = 64;  // which take 97 MB to sample
  const Budget few = split_memory(needs);
  EXPECT(few.samplers > 32 && few.samplers < 64);
  EXPECT(few.threads == 64);
  needs.memory = 1000 * kMegabyte;
  EXPECT(split_memory(needs).samplers == 64);
}

TEST(many_threads_need_no_more_memory_than_one) {
  Rng rng(9, {3});
  for (int i = 0; i < 200; ++i) {
    Needs needs = random_needs(rng);
    const std::uint64_t least = least_of(needs);
    needs.threads = needs.most_samplers = 1;
    EXPECT(least_of(needs) == least);
  }
}

TEST(more_memory_means_more_batches_at_once) {
  EXPECT(split_memory(needs_of_megabytes(100, 20, 0)).num_outputs == 2);
  Needs needs = needs_of_megabytes(4000, 20, 0);
  EXPECT(split_memory(needs).num_outputs == 4);
  needs.threads = needs.most_samplers = 16;
  EXPECT(split_memory(needs).num_outputs == 8);
}

}  // namespace
}  // namespace gz
