// Edges in memory in, a .gl out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/base/types.h"

namespace gz {

// Views of the caller's arrays. `weight` and `time` are as long as `src`, or absent.
struct EdgeList {
  std::span<const NodeId> src;
  std::span<const NodeId> dst;
  std::optional<std::span<const float>> weight;
  std::optional<std::span<const std::int64_t>> time;
};

struct WriteGraphOptions {
  // Negative: one more than the largest id.
  NodeId num_src_nodes = -1;
  NodeId num_dst_nodes = -1;
  bool bipartite = false;  // sources and destinations are different kinds of node
  bool directed = true;    // if not, each row is stored both ways, a self-loop twice
  bool out_index = true;
  bool in_index = true;  // ignored when undirected: one index serves as both
};

// Needs 16 bytes of RAM per stored entry (8 with ids below 2^31, half a byte more with weights) and
// 16 per node, for one index at a time, and throws MemoryShortage beforehand if they are not there.
// Throws std::invalid_argument or std::out_of_range naming array and position of a bad value; then
// and on any other error the target path is as it was.
void write_graph(const std::string& path, const EdgeList& edges, const WriteGraphOptions& options);

}  // namespace gz
