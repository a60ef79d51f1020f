// Which seeds a batch has, and its neighbourhood: a function of epoch and number alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/base/types.h"
#include "core/pipeline/epoch_order.h"
#include "core/pipeline/link_negatives.h"
#include "core/sample/neighbor.h"
#include "core/store/cold_detector.h"

namespace gz {

// Nodes of one type to make batches of. What spans point to outlives the sampler.
struct NodeSeeds {
  std::size_t type = 0;
  std::optional<std::span<const NodeId>> nodes;  // none: all of the type
  std::span<const std::int64_t> times;           // beside the nodes; empty: not temporal
};

// Pairs of nodes of two types to make batches of.
struct LinkSeeds {
  std::size_t src_type = 0;
  std::size_t dst_type = 0;
  // The relation whose edges they are. Empty: none samples them, so they cannot be excluded, and
  // negatives are drawn without knowing which pairs are edges.
  std::optional<std::size_t> relation;
  std::span<const NodeId> src;
  std::span<const NodeId> dst;
  std::span<const std::int64_t> times;  // beside the edges; empty: not temporal
  LinkNegativeOptions negatives;
  bool exclude = false;  // edges to be predicted are not sampled
};

struct SamplerOptions {
  std::variant<NodeSeeds, LinkSeeds> seeds;
  std::vector<NodeId> num_nodes;                          // by type
  std::vector<std::span<const std::int64_t>> node_times;  // by type; empty: they have none
  std::vector<Relation> relations;                        // nothing is excluded in them
  NeighborOptions sampling;                               // epoch and batch in it are not used
  std::uint64_t batch_size = 1;
  bool shuffle = false;
  bool drop_last = false;
  // One of `world_size` samplers that share the seeds of an epoch: each takes every
  // `world_size`-th, and all take equally many. The last ones are left out, or the first ones are
  // taken again.
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
  bool drop_uneven = false;
};

// What batches are made of if not of an epoch's own order.
struct Arrangement {
  std::optional<std::vector<std::int64_t>> order;  // places among the seeds, as often as wanted
  std::optional<std::vector<std::uint64_t>> batch_sizes;  // their sum is the number of places
  std::string order_name = "order";                       // what messages call the order
};

struct SampledBatch {
  Neighborhood hood;
  std::vector<std::int64_t> input_ids;  // places among the seeds
  // Of links: local ids of both ends, those of the edges first, then those of the negatives.
  // Triplets have as many sources as edges.
  std::vector<std::int64_t> src;
  std::vector<std::int64_t> dst;
};

// Safe on many threads. Throws what sample_neighbors() and the negative samplers throw.
class BatchSampler {
 public:
  // Throws std::out_of_range naming the first seed that is no node, std::invalid_argument.
  explicit BatchSampler(SamplerOptions options);

  const SamplerOptions& options() const { return options_; }
  void set_seed(std::uint64_t seed) { options_.sampling.seed = seed; }
  // Throws std::invalid_argument, std::out_of_range.
  void arrange(Arrangement arrangement);

  std::uint64_t num_seeds() const;   // of all ranks
  std::uint64_t num_places() const;  // in the batches of this one
  std::uint64_t num_batches() const;

  // Of all ranks; an arranged order has no use for it.
  EpochOrder order(std::uint64_t epoch) const;
  SampledBatch sample(const EpochOrder& order, std::uint64_t epoch, std::uint64_t number) const;

 private:
  // The seeds of one batch, by type.
  struct BatchSeeds {
    std::vector<std::vector<NodeId>> nodes;
    std::vector<std::vector<std::int64_t>> times;
    std::vector<NodeId> excluded_src;
    std::vector<NodeId> excluded_dst;
  };

  // Appends from[i] for each of `places`, which lie anywhere in what may be a view of a file.
  void take(std::span<const std::int64_t> from, std::span<const std::int64_t> places,
            std::vector<std::int64_t>& out) const;
  std::int64_t seed_at(const EpochOrder& order, std::uint64_t place) const;
  void add_seeds(const NodeSeeds& seeds, SampledBatch& batch, BatchSeeds& found) const;
  void add_seeds(const LinkSeeds& seeds, const NeighborOptions& sampling, SampledBatch& batch,
                 BatchSeeds& found) const;
  // Leaves the links of a batch out of the relation that has them.
  static void exclude(const BatchSeeds& found, std::vector<Relation>& relations, std::size_t of,
                      NeighborOptions& sampling);

  // Throws IoError if seeds or times are views of a file that shrank: they were read as zeros.
  void check_inputs() const;

  SamplerOptions options_;
  std::optional<LinkNegatives> negatives_;           // of links
  std::optional<std::vector<std::int64_t>> places_;  // arranged
  std::vector<std::uint64_t> batch_ends_;            // arranged; empty: batches of batch_size
  mutable ColdDetector cold_detector_;               // of seeds and their times
};

}  // namespace gz
