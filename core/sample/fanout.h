// One hop for many nodes as a rectangle: the classic call.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/types.h"
#include "core/store/topology.h"

namespace gz {

// Row i of `out`, `fanout` wide, gets different neighbours of nodes[i], each subset and each order
// as likely as any other; where there are not more than `fanout`, all of them in the order of the
// list, then `pad`. counts[i] is how many are no padding. Draws are keyed by (seed, i), so a node
// that is given twice is sampled twice. Throws std::out_of_range naming the first id that is no
// node.
void sample_fanout(const Topology& graph, Direction direction, std::span<const NodeId> nodes,
                   EdgeId fanout, NodeId pad, std::uint64_t seed, std::span<NodeId> out,
                   std::span<std::int64_t> counts);

}  // namespace gz
