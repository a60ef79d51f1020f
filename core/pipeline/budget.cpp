#include "core/pipeline/budget.h"

#include <algorithm>

#include "core/base/error.h"

namespace gz {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;
constexpr std::uint64_t kReads = std::uint64_t{8} << 20;
constexpr std::size_t kMostOutputs = 4;
// Of what batches in flight leave over. More rows that stay mean fewer reads, more batches ahead
// mean larger ones: measured in docs/design/pipeline.md.
constexpr double kWindowShare = 0.45;

// A thread that samples holds the sample as it grows and its table of nodes. What one batch had
// waits for the next one: fresh memory would cost more than the rows it could hold save.
std::uint64_t working_bytes(const Needs& needs, std::size_t threads) {
  return threads * (needs.sample_bytes + needs.sample_bytes / 2) + needs.sample_bytes;
}

}  // namespace

Budget split_memory(const Needs& needs) {
  Budget budget;
  budget.threads = needs.threads;
  const std::uint64_t output = needs.sample_bytes + needs.row_bytes;
  const std::uint64_t least_window = 2 * needs.sample_bytes + kReads;
  const std::uint64_t asked = std::min(needs.cache.value_or(0), needs.swept_bytes);
  const auto least_with = [&](std::size_t threads) {
    return working_bytes(needs, threads) + kReads + 2 * output + least_window + asked;
  };
  while (budget.threads > needs.least_threads && needs.memory < least_with(budget.threads))
    --budget.threads;
  const std::uint64_t least = least_with(budget.threads);
  if (needs.memory < least) {
    throw BudgetTooSmall(
        concat("memory: expected at least ", (least + kMegabyte - 1) / kMegabyte,
               " MB for batches of this size, found ", needs.memory / kMegabyte, " MB"),
        concat("give more, or use ", budget.threads > 1 ? "fewer threads, " : "",
               "smaller batches, smaller fanouts or fewer attributes"),
        least);
  }
  budget.working = working_bytes(needs, budget.threads);
  budget.reads = kReads;
  while (budget.num_outputs < kMostOutputs &&
         least + (budget.num_outputs - 1) * output <= needs.memory / 4) {
    ++budget.num_outputs;
  }
  budget.outputs = budget.num_outputs * output;
  const std::uint64_t rest = needs.memory - budget.working - kReads - budget.outputs;
  if (needs.cache) {
    budget.cache = asked;
  } else if (needs.swept_bytes + needs.swept_bytes / 32 + least_window <= rest) {
    budget.cache = needs.swept_bytes + needs.swept_bytes / 32;  // all of it
  } else if (needs.swept_bytes > 0) {
    budget.cache = static_cast<std::uint64_t>(static_cast<double>(rest) * (1 - kWindowShare));
    budget.cache = std::min(budget.cache, rest - least_window);
  }
  budget.window = rest - budget.cache;
  return budget;
}

}  // namespace gz
