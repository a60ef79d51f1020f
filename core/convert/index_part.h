// A range of one index, compiled from the records of all tasks: what a .gl is assembled from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/convert/record_set.h"
#include "core/format/gl.h"

namespace gz {

inline constexpr Magic kPartMagic = {'G', 'R', 'A', 'P', 'H', 'Z', 'I', 'P'};

// The entries of a part are numbered like the input, from `first_edge` on.
inline constexpr std::uint32_t kPartAscends = 1;
// Of the whole graph, as in a .gl.
inline constexpr std::uint32_t kPartDirected = 2;
inline constexpr std::uint32_t kPartBipartite = 4;
// Entries are not the input one by one: edges were dropped, or stand in both directions.
inline constexpr std::uint32_t kPartDropped = 8;

// The format's own bytes of the header page: docs/formats/part.md. The sections are those of an
// index of a .gl, without sums of weights; offsets count from 0.
struct PartFields {
  std::uint64_t first_node = 0;
  std::uint64_t num_nodes = 0;
  std::uint64_t num_entries = 0;
  std::uint64_t num_duplicates = 0;
  std::uint64_t first_edge = 0;
  std::uint64_t num_src_nodes = 0;  // of the whole graph,
  std::uint64_t num_dst_nodes = 0;
  std::uint64_t num_rows = 0;  // and of its input
};
static_assert(sizeof(PartFields) == 64);

struct PartPlace {
  Direction direction = Direction::kOut;
  std::size_t part = 0;
  std::size_t num_parts = 1;
};

// Writes the part to `path`. The same bytes for any number of threads and any memory.
void compile_part(const RecordSet& records, const PartPlace& place, const std::string& path);

// Where in each file the records of the part are: offset and length in bytes.
std::vector<std::pair<std::uint64_t, std::uint64_t>> part_slices(const RecordSet& records,
                                                                 const PartPlace& place);

// How wide the ids of a graph are stored.
inline IdWidth node_id_width(std::uint64_t num_src_nodes, std::uint64_t num_dst_nodes) {
  return id_width_for(std::max(num_src_nodes, num_dst_nodes));
}

}  // namespace gz
