#include "core/sample/fanout.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/dispatch.h"
#include "core/base/parallel.h"
#include "core/sample/frontier_draw.h"
#include "core/sample/uniform_pick.h"

namespace gz {
namespace {

constexpr std::size_t kTask = 1024;

// Picks a uniform subset, then a uniform order of it: columns may be treated alike.
class OrderedPick {
 public:
  static constexpr bool kReadsLists = false;

  template <class Picked>
  void pick(const Candidates& candidates, EdgeId fanout, Key key, Picked& out) {
    const std::size_t before = out.size();
    subset_.pick(candidates, fanout, key, out);
    if (candidates.count() <= fanout) return;
    Rng rng(key.with(kOrder));
    for (auto i = static_cast<std::size_t>(fanout); i > 1; --i) {
      std::swap(out[before + i - 1], out[before + static_cast<std::size_t>(rng.below(i))]);
    }
  }

 private:
  static constexpr std::uint64_t kOrder = 1;
  UniformPick subset_{false};
};

}  // namespace

void sample_fanout(const Topology& graph, Direction direction, std::span<const NodeId> nodes,
                   EdgeId fanout, NodeId pad, std::uint64_t seed, std::span<NodeId> out,
                   std::span<std::int64_t> counts) {
  check_nodes(graph, nodes, graph.num_nodes(direction), "start_nodes");
  const Key key(seed, Purpose::kFanout);
  const Limits none;
  const auto width = static_cast<std::size_t>(fanout);
  with_id_type(graph.layout().id_width, [&]<class Id>() {
    const IndexReader<Id> reader(graph, direction);
    guarded(*graph.mapping(), [&] {
      parallel_chunks(nodes.size(), kTask, [&](std::size_t begin, std::size_t end) {
        std::vector<std::int64_t> trees(end - begin);
        std::iota(trees.begin(), trees.end(), static_cast<std::int64_t>(begin));
        const Frontier frontier{nodes.subspan(begin, end - begin), trees};
        Drawn drawn;
        FrontierDraw<Id, OrderedPick>(reader, reader.with_positions(), {}, none, fanout, key)
            .draw(frontier, 0, end - begin, drawn);
        const NodeId* next = drawn.neighbors.begin();
        for (std::size_t i = begin; i < end; ++i) {
          const std::int64_t count = drawn.counts[i - begin];
          NodeId* const row = out.data() + i * width;
          std::copy(next, next + count, row);
          std::fill(row + count, row + width, pad);
          counts[i] = count;
          next += count;
        }
      });
    });
  });
}

}  // namespace gz
