#include "core/pipeline/budget.h"

#include <algorithm>
#include <stdexcept>

#include "core/base/error.h"

namespace gz {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;
constexpr std::uint64_t kReads = std::uint64_t{8} << 20;
constexpr std::size_t kMostOutputs = 4;
// Of what batches in flight leave over. More rows that stay mean fewer reads, more batches ahead
// mean larger ones: measured in docs/design/pipeline.md.
constexpr double kWindowShare = 0.45;

}  // namespace

Budget split_memory(const Needs& needs) {
  // A thread that samples holds the sample as it grows and its table of nodes. What one batch had
  // waits for the next one: fresh memory would cost more than the rows it could hold save.
  const std::uint64_t working =
      needs.threads * (needs.sample_bytes + needs.sample_bytes / 2) + needs.sample_bytes;
  const std::uint64_t output = needs.sample_bytes + needs.row_bytes;
  const std::uint64_t least_window = 2 * needs.sample_bytes + kReads;
  const std::uint64_t asked = std::min(needs.cache.value_or(0), needs.swept_bytes);
  const std::uint64_t least = working + kReads + 2 * output + least_window + asked;
  if (needs.memory < least) {
    throw BudgetTooSmall(
        concat("memory: expected at least ", (least + kMegabyte - 1) / kMegabyte,
               " MB for batches of this size, found ", needs.memory / kMegabyte,
               " MB; give more, or use smaller batches, smaller fanouts or fewer attributes"),
        least);
  }
  Budget budget;
  budget.working = working;
  budget.reads = kReads;
  while (budget.num_outputs < kMostOutputs &&
         least + (budget.num_outputs - 1) * output <= needs.memory / 4) {
    ++budget.num_outputs;
  }
  budget.outputs = budget.num_outputs * output;
  const std::uint64_t rest = needs.memory - working - kReads - budget.outputs;
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
