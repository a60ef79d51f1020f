#include "core/format/gd.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "core/base/checked.h"
#include "core/base/error.h"
#include "core/format/gi.h"
#include "core/format/gl.h"
#include "core/format/graphzero02.h"
#include "core/format/header_page.h"

namespace gz {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62;

bool is_known(std::uint32_t kind) { return kind >= kGdData && kind <= kGdRowMap; }

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "(";
  for (const std::uint64_t extent : shape) text += concat(text.size() > 1 ? ", " : "", extent);
  return text + ")";
}

std::uint64_t proven_scale_offset(const HeaderChecks& checks, const Section& scale,
                                  const GdLayout& layout) {
  checks.expect(layout.dtype == Dtype::kInt8, "dtype", kFieldsOffset, "int8 beside a scale section",
                dtype_name(layout.dtype));
  checks.expect_dtype(scale, "scale", Dtype::kFloat32);
  const std::uint64_t num_rows = layout.shape[0];
  // A row without items takes no bytes of data, so the number of rows may be too large for this.
  checks.expect_length(scale, "scale", checked_mul(num_rows, sizeof(float)),
                       concat("4 bytes for each of ", num_rows, " rows"));
  return scale.offset;
}

GdRowMap proven_row_map(const HeaderChecks& checks, const Section& map, std::uint64_t num_rows) {
  const bool narrow = map.dtype == Dtype::kInt32 && id_width_for(num_rows) == IdWidth::k4;
  checks.expect(narrow || map.dtype == Dtype::kInt64, "dtype of section row_map",
                map.entry + offsetof(SectionEntry, dtype),
                concat(id_width_for(num_rows) == IdWidth::k4 ? "int32 or int64" : "int64", " for ",
                       num_rows, " rows"),
                dtype_name(map.dtype));
  checks.expect_length(map, "row_map", checked_mul(num_rows, item_size(map.dtype)),
                       concat(item_size(map.dtype), " bytes for each of ", num_rows, " rows"));
  return {map.offset, narrow ? IdWidth::k4 : IdWidth::k8};
}

GdLayout proven_layout(const std::string& path, const Container& container) {
  GdFields fields;
  std::memcpy(&fields, container.page.data() + kFieldsOffset, sizeof fields);

  const HeaderChecks checks{path};
  checks.expect(container.flags == 0, "flags", offsetof(ContainerHeader, flags), "0",
                container.flags);
  const auto dtype = dtype_from_code(fields.dtype);
  checks.expect(dtype.has_value(), "dtype", kFieldsOffset, concat("a code below ", kNumDtypes),
                fields.dtype);
  checks.expect(fields.num_dimensions >= 1 && fields.num_dimensions <= kMaxDimensions,
                "number of dimensions", kFieldsOffset + 4, concat("1 to ", kMaxDimensions),
                fields.num_dimensions);
  checks.expect_zeros(container.page, kFieldsOffset + 8 + 8 * fields.num_dimensions, kTableOffset);

  GdLayout layout;
  layout.dtype = *dtype;
  layout.shape.assign(fields.shape.begin(), fields.shape.begin() + fields.num_dimensions);
  try {
    layout.data_length = byte_size(layout.dtype, layout.shape);
  } catch (const std::length_error& error) {
    throw FormatError(path, "bad shape at byte ", kFieldsOffset + 8, ": ", error.what());
  }
  const Section* const data = container.find(kGdData);
  if (data == nullptr) throw FormatError(path, "expected a data section, found none");
  checks.expect_dtype(*data, "data", layout.dtype);
  checks.expect_length(*data, "data", layout.data_length,
                       concat(layout.data_length, " bytes for shape ", shape_text(layout.shape)));
  layout.data_offset = data->offset;
  if (const Section* const scale = container.find(kGdScale)) {
    layout.scale_offset = proven_scale_offset(checks, *scale, layout);
  }
  if (const Section* const map = container.find(kGdRowMap)) {
    layout.row_map = proven_row_map(checks, *map, layout.shape[0]);
  }
  layout.fingerprint = container.fingerprint;
  layout.sections = container.sections;
  return layout;
}

}  // namespace

std::string gd_section_name(std::uint32_t kind) {
  if (kind == kGdScale) return "scale";
  if (kind == kGdRowMap) return "row_map";
  return kind == kGdData ? "data" : concat("kind ", kind);
}

std::uint64_t byte_size(Dtype dtype, const std::vector<std::uint64_t>& shape) {
  std::optional<std::uint64_t> size = item_size(dtype);
  bool empty = false;
  for (const std::uint64_t extent : shape) {
    // A zero must not hide extents that no array can have, nor a row too long for its own size.
    size = checked_mul(*size, std::max<std::uint64_t>(extent, 1));
    if (!size || *size > kMaxBytes) {
      throw std::length_error(concat("an array of shape ", shape_text(shape), " and dtype ",
                                     dtype_name(dtype), " exceeds 2^62 bytes"));
    }
    empty = empty || extent == 0;
  }
  return empty ? 0 : *size;
}

GdLayout read_gd(const File& file) {
  const std::string& path = file.path();
  const auto magic = read_magic(file);
  if (magic == kGraphZero02GdMagic) return read_graphzero02_gd(file);
  if (magic == kGlMagic || magic == kGraphZero02GlMagic) {
    throw FormatError(
        path, "is a topology file (.gl), expected a feature file (.gd): open it with Graph");
  }
  if (magic == kGiMagic) {
    throw FormatError(
        path,
        "is an id dictionary (.gi), expected a feature file (.gd): open it with IdDictionary");
  }
  return proven_layout(path, read_container(file, kGdMagic, &is_known));
}

GdLayout read_gd(const std::string& path, const HeaderPage& page, std::uint64_t file_size) {
  return proven_layout(path, read_container(path, page, file_size, kGdMagic, &is_known));
}

}  // namespace gz
