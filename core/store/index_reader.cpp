#include "core/store/index_reader.h"

#include <stdexcept>

namespace gz {

void check_nodes(const Topology& graph, std::span<const NodeId> nodes, NodeId num_nodes,
                 const char* name) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] < 0 || nodes[i] >= num_nodes) {
      throw std::out_of_range(concat(name, "[", i, "]: node ", nodes[i], " is not in ",
                                     graph.path(), ", which has ", num_nodes, " nodes (0 to ",
                                     num_nodes - 1, ")"));
    }
  }
}

}  // namespace gz
