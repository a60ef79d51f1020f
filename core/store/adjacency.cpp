#include "core/store/adjacency.h"

#include <stdexcept>

#include "core/base/dispatch.h"
#include "core/base/parallel.h"

namespace gz {

std::vector<std::uint8_t> has_edges(const Topology& graph, std::span<const NodeId> src,
                                    std::span<const NodeId> dst) {
  if (src.size() != dst.size()) {
    throw std::invalid_argument(
        concat("src and dst: expected equal lengths, found ", src.size(), " and ", dst.size()));
  }
  check_nodes(graph, src, graph.num_nodes(Direction::kOut), "src");
  check_nodes(graph, dst, graph.num_nodes(Direction::kIn), "dst");
  std::vector<std::uint8_t> result(src.size());
  guarded(*graph.mapping(), [&] {
    with_id_type(graph.layout().id_width, [&]<class Id>() {
      const EdgeLookup<Id> lookup(graph);
      parallel_chunks(src.size(), 1024, [&](std::size_t begin, std::size_t end) {
        lookup.test(src.subspan(begin, end - begin), dst.subspan(begin, end - begin),
                    result.data() + begin);
      });
    });
  });
  return result;
}

}  // namespace gz
