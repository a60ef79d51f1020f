#include "core/format/gl.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/base/error.h"
#include "core/format/gd.h"
#include "core/format/gi.h"
#include "core/format/graphzero02.h"

namespace gz {
namespace {

bool is_known(std::uint32_t kind) {
  const std::uint32_t role = kind & 15;
  return kind < 32 && role >= 1 && role <= 6;
}

std::uint64_t field_at(std::size_t offset) { return kFieldsOffset + offset; }

class LayoutReader : HeaderChecks {
 public:
  LayoutReader(const std::string& file, const Container& container)
      : HeaderChecks{file}, container_(container) {
    std::memcpy(&fields_, container.page.data() + kFieldsOffset, sizeof fields_);
  }

  GlLayout read() {
    check_fields();
    layout_.num_src_nodes = fields_.num_src_nodes;
    layout_.num_dst_nodes = fields_.num_dst_nodes;
    layout_.num_edges = fields_.num_edges;
    layout_.num_input_edges = fields_.num_input_edges;
    layout_.directed = (container_.flags & kGlDirected) != 0;
    layout_.bipartite = (container_.flags & kGlBipartite) != 0;
    layout_.id_width =
        width_of(GlRole::kIndices, std::max(fields_.num_src_nodes, fields_.num_dst_nodes));
    layout_.edge_id_width = width_of(GlRole::kEdgeIds, fields_.num_input_edges);
    layout_.out = index(Direction::kOut);
    layout_.in = index(Direction::kIn);
    check_indexes();
    layout_.fingerprint = container_.fingerprint;
    layout_.sections = container_.sections;
    return layout_;
  }

 private:
  void check_fields() const {
    const std::uint32_t unknown = container_.flags & ~(kGlDirected | kGlBipartite);
    expect(unknown == 0, "flags", offsetof(ContainerHeader, flags), "only bits 0 and 1",
           container_.flags);
    expect(container_.flags != kGlBipartite, "flags", offsetof(ContainerHeader, flags),
           "a bipartite graph to be directed", "an undirected one");
    expect(fields_.num_src_nodes <= kMaxCount, "source node count", field_at(0), "at most 2^59",
           fields_.num_src_nodes);
    expect(fields_.num_dst_nodes <= kMaxCount, "destination node count", field_at(8),
           "at most 2^59", fields_.num_dst_nodes);
    const bool bipartite = (container_.flags & kGlBipartite) != 0;
    expect(bipartite || fields_.num_src_nodes == fields_.num_dst_nodes, "destination node count",
           field_at(8),
           concat(fields_.num_src_nodes, " (as many as sources: the graph is not bipartite)"),
           fields_.num_dst_nodes);
    expect(fields_.num_edges <= kMaxCount, "edge count", field_at(16), "at most 2^59",
           fields_.num_edges);
    expect(fields_.num_input_edges <= kMaxCount, "input edge count", field_at(24), "at most 2^59",
           fields_.num_input_edges);
    const std::uint64_t entries_per_edge = (container_.flags & kGlDirected) != 0 ? 1 : 2;
    expect(fields_.num_edges <= entries_per_edge * fields_.num_input_edges, "edge count",
           field_at(16),
           concat("at most ", entries_per_edge, " for each of the ", fields_.num_input_edges,
                  " input edges"),
           fields_.num_edges);
    expect_zeros(container_.page, kFieldsOffset + sizeof(GlFields), kTableOffset);
  }

  const Section* find(Direction direction, GlRole role) const {
    return container_.find(gl_kind(direction, role));
  }

  static std::string name(Direction direction, GlRole role) {
    return gl_section_name(gl_kind(direction, role));
  }

  // Ids of one role have one width in both indexes.
  IdWidth width_of(GlRole role, std::uint64_t num_ids) const {
    std::optional<Dtype> seen;
    for (const Direction direction : {Direction::kOut, Direction::kIn}) {
      const Section* const section = find(direction, role);
      if (section == nullptr) continue;
      const std::string what = concat("dtype of section ", name(direction, role));
      const std::uint64_t at = section->entry + offsetof(SectionEntry, dtype);
      const bool is_id = section->dtype == Dtype::kInt32 || section->dtype == Dtype::kInt64;
      expect(is_id, what, at, "int32 or int64", dtype_name(section->dtype));
      expect(!seen || *seen == section->dtype, what, at,
             concat(dtype_name(seen.value_or(section->dtype)), " as in the other index"),
             dtype_name(section->dtype));
      expect(section->dtype == Dtype::kInt64 || id_width_for(num_ids) == IdWidth::k4, what, at,
             concat("int64 for ids up to ", num_ids - 1), "int32");
      seen = section->dtype;
    }
    return seen == Dtype::kInt64 ? IdWidth::k8 : IdWidth::k4;
  }

  std::optional<ByteRange> range(Direction direction, GlRole role, Dtype dtype,
                                 std::uint64_t count) const {
    const Section* const section = find(direction, role);
    if (section == nullptr) return std::nullopt;
    const std::uint64_t length = count * item_size(dtype);
    expect_dtype(*section, name(direction, role), dtype);
    expect_length(*section, name(direction, role), length,
                  concat(length, " bytes for ", count, " items"));
    return ByteRange{section->offset, section->length};
  }

  std::optional<GlIndex> index(Direction direction) const {
    const std::uint64_t num_nodes =
        direction == Direction::kOut ? fields_.num_src_nodes : fields_.num_dst_nodes;
    const auto indptr = range(direction, GlRole::kIndptr, Dtype::kInt64, num_nodes + 1);
    const auto indices =
        range(direction, GlRole::kIndices, id_dtype(layout_.id_width), fields_.num_edges);
    const auto edge_ids =
        range(direction, GlRole::kEdgeIds, id_dtype(layout_.edge_id_width), fields_.num_edges);
    const auto weights = range(direction, GlRole::kWeights, Dtype::kFloat32, fields_.num_edges);
    const auto times = range(direction, GlRole::kTimes, Dtype::kInt64, fields_.num_edges);
    const auto weight_sums =
        range(direction, GlRole::kWeightSums, Dtype::kFloat64, num_weight_sums(fields_.num_edges));
    if (!indptr && !indices && !edge_ids && !weights && !times && !weight_sums) return std::nullopt;
    if (!indptr || !indices) {
      throw FormatError(path, "the ", direction_name(direction),
                        " index is incomplete: expected sections indptr and indices, found ",
                        indptr ? "no indices" : "no indptr");
    }
    if (!edge_ids && fields_.num_edges > fields_.num_input_edges) {
      throw FormatError(path, "expected a section ", name(direction, GlRole::kEdgeIds),
                        ", found none: positions cannot be the edge ids of ", fields_.num_edges,
                        " entries made from ", fields_.num_input_edges, " edges");
    }
    if (weight_sums && !weights) {
      throw FormatError(path, "expected a section ", name(direction, GlRole::kWeights), " beside ",
                        name(direction, GlRole::kWeightSums), ", found none");
    }
    return GlIndex{*indptr, *indices, edge_ids, weights, times, weight_sums};
  }

  void check_indexes() const {
    if (!layout_.out && !layout_.in)
      throw FormatError(path, "expected an out or an in index, found neither");
    if (!layout_.directed && layout_.in) {
      throw FormatError(
          path,
          "an undirected graph stores one index: expected the out index alone, found an in index");
    }
    if (!layout_.out || !layout_.in) return;
    if (layout_.out->weights.has_value() != layout_.in->weights.has_value()) {
      throw FormatError(path, "expected weights in both indexes or in none, found them in one");
    }
    if (layout_.out->times.has_value() != layout_.in->times.has_value()) {
      throw FormatError(path, "expected times in both indexes or in none, found them in one");
    }
    if (layout_.out->weight_sums.has_value() != layout_.in->weight_sums.has_value()) {
      throw FormatError(path, "expected weight sums in both indexes or in none, found them in one");
    }
  }

  const Container& container_;
  GlFields fields_;
  GlLayout layout_;
};

}  // namespace

std::string gl_section_name(std::uint32_t kind) {
  if (!is_known(kind)) return concat("kind ", kind);
  constexpr const char* kRoles[] = {"",        "indptr", "indices",    "edge_ids",
                                    "weights", "times",  "weight_sums"};
  return concat(kind < 16 ? "out_" : "in_", kRoles[kind & 15]);
}

GlLayout read_gl(const File& file) {
  const auto magic = read_magic(file);
  if (magic == kGraphZero02GlMagic) return read_graphzero02_gl(file);
  if (magic == kGdMagic || magic == kGraphZero02GdMagic) {
    throw FormatError(
        file.path(),
        "is a feature file (.gd), expected a topology file (.gl): open it with FeatureStore");
  }
  if (magic == kGiMagic) {
    throw FormatError(
        file.path(),
        "is an id dictionary (.gi), expected a topology file (.gl): open it with IdDictionary");
  }
  const Container container = read_container(file, kGlMagic, &is_known);
  return LayoutReader(file.path(), container).read();
}

}  // namespace gz
