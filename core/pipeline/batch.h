// What a pipeline hands out: a sample, and the attributes of its nodes and edges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/recycled_vector.h"
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
  // So many bytes of rows, as they are handed out, are with the one who takes the batches.
  std::uint64_t elsewhere = 0;
};

// Where the rows of a batch are if some of them are elsewhere.
struct Whereabouts {
  RecycledVector<std::int32_t> slots;   // by row: its place among those elsewhere; 0 if it is here
  RecycledVector<std::int64_t> places;  // of the rows that are here, rising
};

// One row per node, or edge, in the order of the sample.
struct BatchRows {
  std::byte* data = nullptr;
  std::size_t count = 0;
  BatchMemory::Block memory;               // what `data` points into
  std::optional<Whereabouts> whereabouts;  // empty: all rows are here
};

struct IdArray {
  std::int64_t* data = nullptr;
  std::size_t count = 0;
  std::shared_ptr<const void> memory;  // what `data` points into
};

// As SampledNodes and SampledEdges.
struct BatchNodes {
  IdArray nodes;
  IdArray trees;
  std::vector<std::int64_t> per_hop;
};
struct BatchEdges {
  IdArray ends;  // all sources, then all destinations
  IdArray edges;
  std::vector<std::int64_t> per_hop;
};

struct Batch {
  std::uint64_t number = 0;  // within the epoch
  SampledBatch sampled;      // without its neighbourhood, which is:
  std::vector<BatchNodes> types;
  std::vector<BatchEdges> relations;
  std::vector<BatchRows> rows;  // by attribute
};

}  // namespace gz
