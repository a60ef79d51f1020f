// What a pipeline hands out: a sample, and the attributes of its nodes and edges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
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
  // Bytes of rows, as they are handed out, that the device of the caller has room for.
  std::uint64_t bytes_on_device = 0;
  // Only of quantised rows, with no `wanted`: they are handed out as bytes, the stored items of a
  // row and behind them its scale, a float.
  bool with_scales = false;

  std::span<const std::int64_t> ids_in(const Neighborhood& hood) const {
    return of_edges ? hood.relations[of].edges.span() : hood.types[of].nodes.span();
  }
};

// Where the rows of a batch are if the device has some of them.
struct DeviceRowIndex {
  RecycledVector<std::int32_t> slots;   // by row: its slot on the device; 0 for a host row
  RecycledVector<std::int64_t> places;  // of the host rows, rising
};

// One row per node, or edge, in the order of the sample, without those that are on the device.
struct BatchRows {
  std::byte* data = nullptr;
  std::size_t count = 0;
  BatchMemory::Block memory;                   // what `data` points into
  std::optional<DeviceRowIndex> device_index;  // empty: all rows are host rows
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
  IdArray ends;   // all sources, then all destinations
  IdArray edges;  // ids, or positions: see have_positions()
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
