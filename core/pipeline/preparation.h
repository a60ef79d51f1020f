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

namespace gz {

// Samples some batches of the first epoch to see what batches are like, and decides by them. What
// is given outlives it.
class Preparation {
 public:
  Preparation(const BatchSampler& sampler, std::span<const Attribute> attributes,
              std::deque<RowSource>& sources);

  // Divides the memory of `wanted`, whose measured fields are set here, and gives each source the
  // rows that it keeps on the device and in the cache; these are not read yet. Throws
  // BudgetTooSmall.
  Budget divide_memory(Needs wanted);

  // After divide_memory(). `most_batches` is what the user asked for.
  ReadAhead read_ahead(const Budget& budget, std::optional<std::size_t> most_batches) const;

 private:
  // What is kept of a sampled batch.
  struct Probe {
    std::uint64_t sample_bytes = 0;
    std::vector<PackedIds> ids;  // by attribute
  };

  Probe probe(const EpochOrder& order, std::uint64_t number) const;
  RecycledVector<float> scores_of(std::size_t attribute) const;
  void choose_device_rows(std::size_t attribute);
  void choose_cached_rows(std::size_t attribute, std::uint64_t bytes);
  RecycledVector<std::int64_t> host_rows(std::size_t attribute, const Probe& probe) const;
  Growth growth_of_misses(std::size_t attribute) const;

  const BatchSampler& sampler_;
  std::span<const Attribute> attributes_;
  std::deque<RowSource>& sources_;
  std::vector<Probe> probes_;
  std::uint64_t sample_bytes_ = 0;  // of the largest batch to expect
};

}  // namespace gz
