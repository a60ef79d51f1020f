// A range of one index, compiled from the records of all tasks: what a .gl is assembled from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/convert/record_set.h"
#include "core/format/gl.h"

namespace gz {

inline constexpr Magic kPartMagic = {'G', 'R', 'A', 'P', 'H', 'Z', 'I', 'P'};

// The entries of a part are numbered like the input, from `first_edge` on.
inline constexpr std::uint32_t kPartAscends = 1;

// The format's own bytes of the header page. The sections are those of an index of a .gl, without
// sums of weights; offsets count from 0.
struct PartFields {
  std::uint64_t first_node = 0;
  std::uint64_t num_nodes = 0;
  std::uint64_t num_entries = 0;
  std::uint64_t num_duplicates = 0;
  std::uint64_t first_edge = 0;
};
static_assert(sizeof(PartFields) == 40);

struct PartPlace {
  Direction direction = Direction::kOut;
  std::size_t part = 0;
  std::size_t num_parts = 1;
};

// Writes the part to `path`. The same bytes for any number of threads and any memory.
void compile_part(const RecordSet& records, const PartPlace& place, const std::string& path);

// How wide the ids of a conversion are stored.
IdWidth node_id_width(const RecordSet& records);
IdWidth edge_id_width(const RecordSet& records);

}  // namespace gz
