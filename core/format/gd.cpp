#include "core/format/gd.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "core/base/checked.h"
#include "core/base/error.h"
#include "core/format/gi.h"
#include "core/format/gl.h"
#include "core/format/graphzero02.h"

namespace gz {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62;

bool is_known(std::uint32_t kind) { return kind >= kGdData && kind <= kGdRowMap; }

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "(";
  for (const std::uint64_t extent : shape) text += concat(text.size() > 1 ? ", " : "", extent);
  return text + ")";
}

std::uint64_t proven_scale_offset(const std::string& path, const Section& scale,
                                  const GdLayout& layout) {
  if (layout.dtype != Dtype::kInt8) {
    refuse_field(path, "dtype", kFieldsOffset, "int8 beside a scale section",
                 std::string(dtype_name(layout.dtype)));
  }
  if (scale.dtype != Dtype::kFloat32) {
    refuse_field(path, "dtype of section scale", scale.entry + offsetof(SectionEntry, dtype),
                 "float32", std::string(dtype_name(scale.dtype)));
  }
  const std::uint64_t num_rows = layout.shape[0];
  // A row without items takes no bytes of data, so the number of rows may be too large for this.
  const auto length = checked_mul(num_rows, sizeof(float));
  if (!length || scale.length != *length) {
    refuse_field(path, "length of section scale", scale.entry + offsetof(SectionEntry, length),
                 concat("4 bytes for each of ", num_rows, " rows"), concat(scale.length, " bytes"));
  }
  return scale.offset;
}

GdRowMap proven_row_map(const std::string& path, const Section& map, std::uint64_t num_rows) {
  const bool narrow = map.dtype == Dtype::kInt32 && id_width_for(num_rows) == IdWidth::k4;
  if (!narrow && map.dtype != Dtype::kInt64) {
    refuse_field(path, "dtype of section row_map", map.entry + offsetof(SectionEntry, dtype),
                 concat(id_width_for(num_rows) == IdWidth::k4 ? "int32 or int64" : "int64", " for ",
                        num_rows, " rows"),
                 std::string(dtype_name(map.dtype)));
  }
  const auto length = checked_mul(num_rows, item_size(map.dtype));
  if (!length || map.length != *length) {
    refuse_field(path, "length of section row_map", map.entry + offsetof(SectionEntry, length),
                 concat(item_size(map.dtype), " bytes for each of ", num_rows, " rows"),
                 concat(map.length, " bytes"));
  }
  return {map.offset, narrow ? IdWidth::k4 : IdWidth::k8};
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
  const Container container = read_container(file, kGdMagic, &is_known);
  GdFields fields;
  std::memcpy(&fields, container.page.data() + kFieldsOffset, sizeof fields);

  if (container.flags != 0) {
    refuse_field(path, "flags", offsetof(ContainerHeader, flags), "0", concat(container.flags));
  }
  const auto dtype = dtype_from_code(fields.dtype);
  if (!dtype)
    refuse_field(path, "dtype", kFieldsOffset, concat("a code below ", kNumDtypes),
                 concat(fields.dtype));
  if (fields.num_dimensions < 1 || fields.num_dimensions > kMaxDimensions) {
    refuse_field(path, "number of dimensions", kFieldsOffset + 4, concat("1 to ", kMaxDimensions),
                 concat(fields.num_dimensions));
  }
  const std::byte* const page = container.page.data();
  const std::size_t used = kFieldsOffset + 8 + 8 * fields.num_dimensions;
  if (!std::all_of(page + used, page + kTableOffset,
                   [](std::byte b) { return b == std::byte{0}; })) {
    refuse_field(path, "reserved bytes", used, "zeros", "something else");
  }

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
  if (data->dtype != layout.dtype) {
    refuse_field(path, "dtype of section data", data->entry + offsetof(SectionEntry, dtype),
                 std::string(dtype_name(layout.dtype)), std::string(dtype_name(data->dtype)));
  }
  if (data->length != layout.data_length) {
    refuse_field(path, "length of section data", data->entry + offsetof(SectionEntry, length),
                 concat(layout.data_length, " bytes for shape ", shape_text(layout.shape)),
                 concat(data->length, " bytes"));
  }
  layout.data_offset = data->offset;
  if (const Section* const scale = container.find(kGdScale)) {
    layout.scale_offset = proven_scale_offset(path, *scale, layout);
  }
  if (const Section* const map = container.find(kGdRowMap)) {
    layout.row_map = proven_row_map(path, *map, layout.shape[0]);
  }
  layout.fingerprint = container.fingerprint;
  layout.sections = container.sections;
  return layout;
}

}  // namespace gz
