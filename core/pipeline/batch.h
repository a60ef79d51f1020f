// What a pipeline hands out: a sample, and the attributes of its nodes and edges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/types.h"
#include "core/pipeline/batch_memory.h"
#include "core/pipeline/batch_sampler.h"
#include "core/store/features.h"

namespace gz {

// Which attribute comes with a batch. `features` outlives the pipeline.
struct Attribute {
  const Features* features = nullptr;
  bool of_edges = false;
  std::size_t of = 0;           // node type, or relation
  std::optional<Dtype> wanted;  // empty: as stored
};

// One row per node, or edge, in the order of the sample.
struct BatchRows {
  std::byte* data = nullptr;
  std::size_t count = 0;
  BatchMemory::Block memory;  // what `data` points into
};

struct Batch {
  std::uint64_t number = 0;  // within the epoch
  SampledBatch sampled;
  std::vector<BatchRows> rows;  // by attribute
};

}  // namespace gz
