// .gd: one array of rows. docs/formats/gd.md is the specification.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/types.h"
#include "core/format/container.h"

namespace gz {

inline constexpr Magic kGdMagic = {'G', 'R', 'A', 'P', 'H', 'Z', 'G', 'D'};

inline constexpr std::uint32_t kMaxDimensions = 16;

struct GdFields {
  std::uint32_t dtype;
  std::uint32_t num_dimensions;
  std::array<std::uint64_t, kMaxDimensions> shape;  // rows first; zeros behind the last dimension
};
static_assert(sizeof(GdFields) == 136);
static_assert(offsetof(GdFields, num_dimensions) == 4);
static_assert(offsetof(GdFields, shape) == 8);

// The kinds of section version 1 knows.
inline constexpr std::uint32_t kGdData = 1;
inline constexpr std::uint32_t kGdScale =
    2;  // float32 per stored row: a value is its int8 times the scale
inline constexpr std::uint32_t kGdRowMap = 3;  // where the row of each id is stored

std::string gd_section_name(std::uint32_t kind);

// Item `id` is the place of row `id` among the stored rows. Unproven like all data: whoever follows
// a place compares it with the number of rows first.
struct GdRowMap {
  std::uint64_t offset = 0;
  IdWidth width = IdWidth::k4;
};

// A header that has been proven: data, scales and row map lie inside the file and have the length
// the shape asks for.
struct GdLayout {
  Dtype dtype = Dtype::kFloat32;
  std::vector<std::uint64_t> shape;
  std::uint64_t data_offset = 0;
  std::uint64_t data_length = 0;
  std::optional<std::uint64_t> scale_offset;  // set if the array is quantised
  std::optional<GdRowMap> row_map;            // set if rows are not stored in order of their ids
  std::uint64_t fingerprint = 0;
  std::vector<Section> sections;  // empty for a file of GraphZero 0.2: it has no checksums
};

// Bytes of an array of this shape. Throws std::length_error where that exceeds 2^62, or would
// without the extents that are zero.
std::uint64_t byte_size(Dtype dtype, const std::vector<std::uint64_t>& shape);

// Version 1, or a file of GraphZero 0.2. O(1). Throws FormatError.
GdLayout read_gd(const File& file);

}  // namespace gz
