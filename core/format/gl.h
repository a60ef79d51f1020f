// .gl: the topology of one relation. docs/formats/gl.md is the specification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/types.h"
#include "core/format/container.h"

namespace gz {

inline constexpr Magic kGlMagic = {'G', 'R', 'A', 'P', 'H', 'Z', 'G', 'L'};

inline constexpr std::uint32_t kGlDirected = 1;
inline constexpr std::uint32_t kGlBipartite = 2;

// The format's own bytes of the header page, from kFieldsOffset on.
struct GlFields {
  std::uint64_t num_src_nodes;
  std::uint64_t num_dst_nodes;
  std::uint64_t num_edges;        // entries in each stored index
  std::uint64_t num_input_edges;  // edge ids are below this; half of num_edges when undirected
};
static_assert(sizeof(GlFields) == 32);
static_assert(offsetof(GlFields, num_dst_nodes) == 8);
static_assert(offsetof(GlFields, num_edges) == 16);
static_assert(offsetof(GlFields, num_input_edges) == 24);

// What a section of an index holds. Its kind in the table is gl_kind(direction, role).
enum class GlRole : std::uint32_t {
  kIndptr = 1,
  kIndices = 2,
  kEdgeIds = 3,
  kWeights = 4,
  kTimes = 5,
  kWeightSums = 6
};

constexpr std::uint32_t gl_kind(Direction direction, GlRole role) {
  return static_cast<std::uint32_t>(role) + (direction == Direction::kIn ? 16 : 0);
}

// Stored sums of weights are this many entries apart: one cache line of weights.
inline constexpr EdgeId kWeightStride = 16;

constexpr std::uint64_t num_weight_sums(std::uint64_t num_edges) {
  return num_edges / kWeightStride + (num_edges % kWeightStride != 0);
}

// "out_indptr", "in_weights" …, or "kind 99" for a kind this version does not know.
std::string gl_section_name(std::uint32_t kind);

// Where in the file an array lies.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

struct GlIndex {
  ByteRange indptr;                      // int64, one more than there are nodes on this side
  ByteRange indices;                     // ids of the other side
  std::optional<ByteRange> edge_ids;     // left out where an entry's position is its edge id
  std::optional<ByteRange> weights;      // float32
  std::optional<ByteRange> times;        // int64
  std::optional<ByteRange> weight_sums;  // float64, num_weight_sums() of them
};

// A header that has been proven: every range lies inside the file and has the length its counts ask
// for.
struct GlLayout {
  std::uint64_t num_src_nodes = 0;
  std::uint64_t num_dst_nodes = 0;
  std::uint64_t num_edges = 0;
  std::uint64_t num_input_edges = 0;
  bool directed = true;
  bool bipartite = false;
  bool sorted = true;  // lists are in order; not so in files of GraphZero 0.2
  IdWidth id_width = IdWidth::k4;
  IdWidth edge_id_width = IdWidth::k4;
  std::optional<GlIndex> out;
  std::optional<GlIndex> in;
  std::uint64_t fingerprint = 0;
  std::vector<Section> sections;  // empty for a file of GraphZero 0.2: it has no checksums
};

// Version 1, or a file of GraphZero 0.2. O(1). Throws FormatError.
GlLayout read_gl(const File& file);

}  // namespace gz
