// What is decided before the first batch: which rows stay where, and how far to read ahead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "core/base/recycled_vector.h"
#include "core/pipeline/batch.h"
#include "core/pipeline/batch_sampler.h"
#include "core/pipeline/budget.h"
#include "core/pipeline/packed_ids.h"
#include "core/pipeline/plan.h"
#include "core/pipeline/row_source.h"
#include "core/pipeline/traffic.h"

namespace gz {

// What was decided, and what to expect of it.
struct Plan {
  Budget budget;
  ReadAhead ahead;
  // Of a batch:
  double misses = 0;
  double read_bytes = 0;
  double read_seconds = 0;    // of the device
  double thread_seconds = 0;  // of all threads together
  double sample_seconds = 0;  // of these, those of threads that sample
  ReadCost read_cost;         // of the largest file that is read past the page cache
};

// Samples some batches of the first epoch to see what batches are like, and decides by them. What
// is given outlives it.
class Preparation {
 public:
  Preparation(const BatchSampler& sampler, std::span<const Attribute> attributes,
              std::deque<RowSource>& sources);

  // Divides the memory of `wanted`, whose measured fields are set here, and gives each source the
  // rows that it keeps on the device and in the cache; these are not read yet. `most_batches` is
  // how far to read ahead at most, if the user said so. Throws BudgetTooSmall.
  Plan divide_memory(Needs wanted, std::optional<std::size_t> most_batches);

 private:
  // What is kept of a sampled batch.
  struct Probe {
    std::uint64_t sample_bytes = 0;
    // Those that some attribute is of. Attributes may be many.
    std::vector<PackedIds> nodes;  // by type
    std::vector<PackedIds> edges;  // by relation

    const PackedIds& ids(const Attribute& attribute) const {
      return attribute.of_edges ? edges[attribute.of] : nodes[attribute.of];
    }
  };

  // Of the rows of an attribute that are read from the device.
  struct Swept {
    std::size_t attribute;
    std::uint64_t data_bytes;
    RecycledVector<float> scores;  // none if the file is stored hottest first, or of edges
    RowTraffic traffic;
  };

  Probe probe(const EpochOrder& order, std::uint64_t number) const;
  RecycledVector<float> scores_of(std::size_t attribute) const;
  void choose_device_rows(std::size_t attribute);
  Swept look_at(std::size_t attribute) const;
  std::uint64_t rows_in(const Swept& swept, std::uint64_t bytes) const;
  void choose_cached_rows(Swept& swept, std::uint64_t bytes);
  RecycledVector<std::int64_t> host_rows(std::size_t attribute, const Probe& probe) const;
  std::uint64_t most_misses(std::size_t attribute) const;
  AheadNeeds ahead_needs(std::optional<std::size_t> most_batches, std::size_t threads) const;
  void expect(Plan& plan, std::span<const double> cached) const;
  std::vector<std::uint64_t> data_bytes() const;  // beside swept_
  Plan plan_with_cache(const Budget& budget, std::uint64_t cache, AheadNeeds needs) const;
  Plan best_plan(const Budget& budget, const AheadNeeds& needs, bool is_cache_given) const;

  const BatchSampler& sampler_;
  std::span<const Attribute> attributes_;
  std::deque<RowSource>& sources_;
  std::vector<Probe> probes_;
  double sample_seconds_ = 0;  // of a batch
  // Of the largest batch to expect.
  std::uint64_t sample_bytes_ = 0;
  std::uint64_t row_bytes_ = 0;
  std::vector<Swept> swept_;
};

}  // namespace gz
