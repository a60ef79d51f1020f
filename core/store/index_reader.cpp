#include "core/store/index_reader.h"

#include <stdexcept>

#include "core/base/dispatch.h"
#include "core/base/parallel.h"
#include "core/store/sequential_scan.h"

namespace gz {
namespace {

constexpr std::size_t kGrain = 1 << 16;

// Neighbouring lists share an offset: where each list is good and the outer ends are, all are.
template <class Id>
void check_lists(const IndexReader<Id>& reader) {
  const MappedFile& mapping = *reader.graph().mapping();
  const auto num_nodes = static_cast<std::size_t>(reader.num_nodes());
  const SequentialScan scan(mapping, reader.offset_of(0), (num_nodes + 1) * sizeof(std::int64_t));
  parallel_chunks(num_nodes, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t node = begin; node < end; ++node) reader.edges_of(static_cast<NodeId>(node));
  });
  const auto expect = [&](NodeId node, EdgeId expected) {
    const EdgeId found = *reader.offset_of(node);
    if (found == expected) return;
    mapping.check_intact();
    throw FormatError(reader.graph().path(), "corrupt indptr at node ", node, ": expected ",
                      expected, ", found ", found);
  };
  expect(0, 0);
  expect(reader.num_nodes(), reader.num_edges());
}

template <class Id>
void check_entries(const IndexReader<Id>& reader) {
  const MappedFile& mapping = *reader.graph().mapping();
  const auto num_edges = static_cast<std::size_t>(reader.num_edges());
  const auto check = [&](const void* begin, std::size_t item_size, auto&& check_one) {
    const SequentialScan scan(mapping, begin, num_edges * item_size);
    parallel_chunks(num_edges, kGrain, [&](std::size_t first, std::size_t end) {
      for (std::size_t at = first; at < end; ++at) check_one(static_cast<EdgeId>(at));
    });
  };
  check(reader.entry(0), sizeof(Id), [&](EdgeId at) { reader.neighbor(at); });
  if (reader.has_edge_ids())
    check(reader.edge_id_address(0), reader.edge_id_size(), [&](EdgeId at) { reader.edge_id(at); });
}

}  // namespace

void check_index(const Topology& graph, Direction direction) {
  guarded(*graph.mapping(), [&] {
    with_id_type(graph.layout().id_width, [&]<class Id>() {
      const IndexReader<Id> reader(graph, direction);
      check_lists(reader);
      check_entries(reader);
    });
  });
}

void check_nodes(const Topology& graph, std::span<const NodeId> nodes, NodeId num_nodes,
                 const char* name) {
  parallel_chunks(nodes.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (nodes[i] < 0 || nodes[i] >= num_nodes) {
        throw std::out_of_range(concat(name, "[", i, "]: node ", nodes[i], " is not in ",
                                       graph.path(), ", which has ", num_nodes, " nodes (0 to ",
                                       num_nodes - 1, ")"));
      }
    }
  });
}

}  // namespace gz
