#include "core/pipeline/budget.h"

#include <algorithm>

#include "core/base/error.h"

namespace gz {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;
// In flight: more bring no more bytes per second.
constexpr std::uint64_t kMostReads = std::uint64_t{8} << 20;
constexpr std::uint64_t kFewestReads = std::uint64_t{2} << 20;
constexpr std::uint64_t kReadShare = 64;  // of the memory
// Finished batches, and those being filled: threads that end together need more of them.
constexpr std::size_t kMostOutputs = 4;
constexpr std::size_t kThreadsPerOutput = 2;
// For rows that arrive: enough for those of a section of the file. And beside each row that a batch
// may miss, where it is in the file and in the batch, of two batches.
constexpr std::uint64_t kLeastRows = std::uint64_t{2} << 20;
constexpr std::uint64_t kBesideRow = 20;
// A thread that samples holds the sample as it grows and its table of nodes. What one batch had
// waits for the next one: fresh memory would cost more than the rows it could hold save.
std::uint64_t working_bytes(const Needs& needs, std::size_t samplers) {
  return samplers * (needs.sample_bytes + needs.sample_bytes / 2) + needs.sample_bytes;
}

}  // namespace

Budget split_memory(const Needs& needs) {
  Budget budget;
  budget.threads = needs.threads;
  const std::uint64_t output = needs.sample_bytes + needs.row_bytes;
  const std::uint64_t least_window =
      2 * needs.sample_bytes + kLeastRows + kBesideRow * needs.swept_rows;
  const std::uint64_t asked = std::min(needs.cache.value_or(0), needs.swept_bytes);
  const auto least_with = [&](std::size_t samplers) {
    return working_bytes(needs, samplers) + kFewestReads + 2 * output + least_window + asked;
  };
  budget.samplers = std::clamp<std::size_t>(needs.most_samplers, 1, needs.threads);
  while (budget.samplers > 1 && needs.memory < least_with(budget.samplers)) --budget.samplers;
  const std::uint64_t least = least_with(budget.samplers);
  if (needs.memory < least) {
    throw BudgetTooSmall(
        concat("memory: expected at least ", (least + kMegabyte - 1) / kMegabyte,
               " MB for batches of this size, found ", needs.memory / kMegabyte, " MB"),
        concat("give more, or use ", asked > 0 ? "a smaller cache, " : "",
               "smaller batches, smaller fanouts or fewer attributes"),
        least);
  }
  budget.working = working_bytes(needs, budget.samplers);
  budget.reads = std::min(std::clamp(needs.memory / kReadShare, kFewestReads, kMostReads),
                          kFewestReads + (needs.memory - least));
  const std::size_t most_outputs = std::max(kMostOutputs, needs.threads / kThreadsPerOutput);
  while (budget.num_outputs < most_outputs &&
         least + (budget.num_outputs - 1) * output <= needs.memory / 16) {
    ++budget.num_outputs;
  }
  budget.outputs = budget.num_outputs * output;
  budget.output_rows = needs.row_bytes;
  const std::uint64_t rest = needs.memory - budget.working - budget.reads - budget.outputs;
  if (needs.cache) {
    budget.cache = asked;
  } else if (needs.swept_bytes + needs.swept_bytes / 32 + least_window <= rest) {
    budget.cache = needs.swept_bytes + needs.swept_bytes / 32;  // all of it
  }
  budget.window = rest - budget.cache;
  budget.least_window = least_window;
  return budget;
}

}  // namespace gz
