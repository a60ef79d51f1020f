#include "core/store/neighbor_counts.h"

#include <algorithm>
#include <atomic>

#include "core/base/dispatch.h"
#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/store/index_reader.h"
#include "core/store/sequential_scan.h"

namespace gz {
namespace {

template <class Id>
void take_degrees(const Topology& graph, Direction direction,
                  RecycledVector<std::uint32_t>& counts) {
  const IndexReader<Id> index(graph, direction);
  const SequentialScan scan(*graph.mapping(), index.offset_of(0),
                            (counts.size() + 1) * sizeof(std::int64_t));
  parallel_for(counts.size(), [&](std::size_t node) {
    const EdgeId degree = index.edges_of(static_cast<NodeId>(node)).size();
    counts[node] = static_cast<std::uint32_t>(std::min<EdgeId>(degree, kMostNeighborCount));
  });
}

template <class Id>
void count_entries(const Topology& graph, Direction direction,
                   RecycledVector<std::uint32_t>& counts) {
  constexpr std::size_t kGrain = 1 << 16;
  const IndexReader<Id> index(graph, direction);
  const auto num_entries = static_cast<std::size_t>(graph.num_edges());
  const SequentialScan scan(*graph.mapping(), index.entry(0), num_entries * sizeof(Id));
  parallel_chunks(num_entries, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) {
      const NodeId node = index.neighbor(static_cast<EdgeId>(at));
      const std::atomic_ref<std::uint32_t> count(counts[static_cast<std::size_t>(node)]);
      if (count.load(std::memory_order_relaxed) < kMostNeighborCount)
        count.fetch_add(1, std::memory_order_relaxed);
    }
  });
  for (std::uint32_t& count : counts) count = std::min(count, kMostNeighborCount);
}

}  // namespace

RecycledVector<std::uint32_t> neighbor_counts(const Topology& graph, Direction direction) {
  const Direction other = direction == Direction::kOut ? Direction::kIn : Direction::kOut;
  const auto num_nodes = static_cast<std::size_t>(graph.num_neighbor_nodes(direction));
  require_memory(num_nodes * sizeof(std::uint32_t),
                 concat(graph.path(), ": counting how often its nodes are neighbours"));
  RecycledVector<std::uint32_t> counts(num_nodes);
  guarded(*graph.mapping(), [&] {
    with_id_type(graph.layout().id_width, [&]<class Id>() {
      if (graph.has(other)) {
        take_degrees<Id>(graph, other, counts);
      } else {
        count_entries<Id>(graph, direction, counts);
      }
    });
  });
  return counts;
}

}  // namespace gz
