#include "core/convert/index_assembly.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

#include "core/base/parallel.h"
#include "core/convert/index_part.h"
#include "core/format/gl_writer.h"
#include "core/format/weight_sums.h"

namespace gz {
namespace {

constexpr std::size_t kBlock = 1 << 20;
constexpr std::uint64_t kMostItems = std::uint64_t{1} << 59;

bool is_known(std::uint32_t kind) {
  const std::uint32_t role = kind % 16;
  return kind < 32 && role >= static_cast<std::uint32_t>(GlRole::kIndptr) &&
         role <= static_cast<std::uint32_t>(GlRole::kTimes);
}

class Part {
 public:
  explicit Part(const std::string& path)
      : file_(path), container_(read_container(file_, kPartMagic, is_known)) {
    std::memcpy(&fields_, container_.page.data() + kFieldsOffset, sizeof fields_);
    for (const std::uint64_t count : {fields_.first_node, fields_.num_nodes, fields_.num_entries,
                                      fields_.num_src_nodes, fields_.num_dst_nodes}) {
      if (count > kMostItems)
        throw FormatError(path, "expected counts of at most 2^59, found ", count);
    }
  }

  const File& file() const { return file_; }
  const PartFields& fields() const { return fields_; }
  bool is(std::uint32_t flag) const { return (container_.flags & flag) != 0; }
  bool has(Direction direction, GlRole role) const {
    return container_.find(gl_kind(direction, role)) != nullptr;
  }
  // Whether both say the same of the whole graph.
  bool is_of(const Part& other) const {
    const PartFields &own = fields_, &theirs = other.fields_;
    return ((container_.flags ^ other.container_.flags) & ~kPartAscends) == 0 &&
           own.num_src_nodes == theirs.num_src_nodes && own.num_dst_nodes == theirs.num_dst_nodes &&
           own.num_rows == theirs.num_rows;
  }
  std::uint64_t end_node() const { return fields_.first_node + fields_.num_nodes; }

  const Section& section(Direction direction, GlRole role, Dtype dtype, std::uint64_t count) const {
    const Section* const found = container_.find(gl_kind(direction, role));
    if (found == nullptr || found->dtype != dtype || found->length != count * item_size(dtype)) {
      throw FormatError(file_.path(), "expected a part with ", count, " items of ",
                        dtype_name(dtype), " as ", gl_section_name(gl_kind(direction, role)),
                        "; it belongs to another conversion, repeat the step that wrote it");
    }
    return *found;
  }

 private:
  File file_;
  Container container_;
  PartFields fields_;
};

// Reads a section from its beginning to its end, and compares its checksum there.
class SectionReader {
 public:
  SectionReader(const Part& part, const Section& section)
      : part_(part), section_(section), buffer_(std::min<std::uint64_t>(kBlock, section.length)) {}

  bool at_end() const { return next_ == filled_ && done_ == section_.length; }

  // The next bytes, at least one item of 8 and at most `most` of them.
  std::span<const std::byte> next(std::uint64_t most) {
    if (next_ == filled_) fill();
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(most, filled_ - next_));
    next_ += taken;
    return std::span(buffer_).subspan(next_ - taken, taken);
  }

 private:
  void fill() {
    check_interrupt();
    filled_ =
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size(), section_.length - done_));
    next_ = 0;
    const auto bytes = std::span(buffer_).first(filled_);
    part_.file().read_exact_at(bytes, section_.offset + done_);
    done_ += filled_;
    checksum_.update(bytes);
    if (done_ == section_.length && checksum_.digest() != section_.checksum) {
      throw FormatError(part_.file().path(), "the checksum of ", gl_section_name(section_.kind),
                        " differs: the part is damaged, repeat the step that wrote it");
    }
  }

  const Part& part_;
  const Section& section_;
  std::vector<std::byte> buffer_;
  std::size_t next_ = 0, filled_ = 0;
  std::uint64_t done_ = 0;
  Xxh64 checksum_;
};

template <class Item>
std::span<const Item> items_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const Item*>(bytes.data()), bytes.size() / sizeof(Item)};
}

using Output = ContainerWriter::Reserved;

[[noreturn]] void refuse_other(const Part& part, const Part& expected) {
  throw FormatError(part.file().path(), "expected a part of the same graph as ",
                    expected.file().path(), ", found one of another: of ", part.fields().num_rows,
                    " edges instead of ", expected.fields().num_rows);
}

// One index: its parts, and what becomes of them.
class Index {
 public:
  Index(Direction direction, const std::vector<std::string>& paths) : direction_(direction) {
    std::uint64_t node = 0;
    for (const std::string& path : paths) {
      parts_.push_back(std::make_unique<Part>(path));
      const Part& part = *parts_.back();
      if (!part.has(direction, GlRole::kIndptr)) {
        throw FormatError(path, "expected a part of the ", direction_name(direction),
                          " index, found one of the other");
      }
      if (!part.is_of(first())) refuse_other(part, first());
      if (part.fields().first_node != node) refuse(part, node);
      node = part.end_node();
      ascends_ = ascends_ && (part.fields().num_entries == 0 ||
                              (part.is(kPartAscends) && part.fields().first_edge == num_entries));
      num_entries += part.fields().num_entries;
      num_duplicates += part.fields().num_duplicates;
    }
    num_nodes_ = direction == Direction::kOut ? first().fields().num_src_nodes
                                              : first().fields().num_dst_nodes;
    if (node != num_nodes_) {
      throw FormatError(paths.back(), "expected the last part to end at node ", num_nodes_,
                        ", found ", node);
    }
  }

  // True if entries are numbered as they stand.
  bool ascends() const { return ascends_; }

  void copy_offsets(Output& output) const {
    std::uint64_t before = 0;
    std::vector<std::int64_t> block;
    for (const auto& part : parts_) {
      const Section& section = indptr_of(*part);
      SectionReader reader(*part, section);
      while (!reader.at_end()) {
        const auto offsets = items_of<std::int64_t>(reader.next(kBlock));
        block.assign(offsets.begin(), offsets.end());
        for (std::int64_t& offset : block) offset += static_cast<std::int64_t>(before);
        // The end of its last list is where the next part begins.
        if (reader.at_end()) block.pop_back();
        output.append(std::as_bytes(std::span(block)));
      }
      before += part->fields().num_entries;
    }
    output.append(std::as_bytes(std::span(&before, 1)));
  }

  void copy(GlRole role, Dtype dtype, Output& output) const {
    for (const auto& part : parts_) {
      SectionReader reader(*part, entries_of(*part, role, dtype));
      while (!reader.at_end()) output.append(reader.next(kBlock));
    }
  }

  // Before room is made for what parts say they have.
  void expect(GlRole role, Dtype dtype) const {
    for (const auto& part : parts_) entries_of(*part, role, dtype);
  }

  // Sums count positions in the whole index, so they are made here.
  void sum_weights(Output& output) const {
    WeightSums sums;
    std::vector<double> items;
    for (const auto& part : parts_) {
      const Section& indptr = indptr_of(*part);
      const Section& entries = entries_of(*part, GlRole::kWeights, Dtype::kFloat32);
      SectionReader offsets(*part, indptr), weights(*part, entries);
      std::int64_t end = 0;
      while (!offsets.at_end()) {
        for (const std::int64_t offset : items_of<std::int64_t>(offsets.next(kBlock))) {
          if (offset < end || static_cast<std::uint64_t>(offset) > part->fields().num_entries)
            throw FormatError(part->file().path(), "its offsets do not rise; repeat the step");
          std::uint64_t left = static_cast<std::uint64_t>(offset - end);
          end = offset;
          if (left > 0) sums.start_list();
          while (left > 0) {
            const auto some = items_of<float>(weights.next(left * sizeof(float)));
            sums.add(some, items);
            left -= some.size();
          }
        }
        output.append(std::as_bytes(std::span(items)));
        items.clear();
      }
    }
  }

  const Part& first() const { return *parts_.front(); }
  bool has(GlRole role) const { return first().has(direction_, role); }
  std::uint64_t num_nodes() const { return num_nodes_; }
  Direction direction() const { return direction_; }

  std::uint64_t num_entries = 0;
  std::uint64_t num_duplicates = 0;

 private:
  [[noreturn]] static void refuse(const Part& part, std::uint64_t expected) {
    throw FormatError(part.file().path(), "expected a part that begins at node ", expected,
                      ", found ", part.fields().first_node, "; repeat the step that wrote it");
  }

  const Section& indptr_of(const Part& part) const {
    return part.section(direction_, GlRole::kIndptr, Dtype::kInt64, part.fields().num_nodes + 1);
  }
  const Section& entries_of(const Part& part, GlRole role, Dtype dtype) const {
    return part.section(direction_, role, dtype, part.fields().num_entries);
  }

  Direction direction_;
  std::uint64_t num_nodes_ = 0;
  std::vector<std::unique_ptr<Part>> parts_;
  bool ascends_ = true;
};

}  // namespace

EdgeReport assemble_graph(const std::vector<std::string>& out_parts,
                          const std::vector<std::string>& in_parts, const std::string& path) {
  std::vector<std::unique_ptr<Index>> indexes;
  const auto add_index = [&](Direction direction, const std::vector<std::string>& parts) {
    if (!parts.empty()) indexes.push_back(std::make_unique<Index>(direction, parts));
  };
  add_index(Direction::kOut, out_parts);
  add_index(Direction::kIn, in_parts);
  if (indexes.empty()) throw FormatError(path, "expected the parts of an index, found none");
  const Part& any = indexes.front()->first();
  if (!indexes.back()->first().is_of(any)) refuse_other(indexes.back()->first(), any);
  EdgeReport report;
  report.num_rows = any.fields().num_rows;
  report.num_src_nodes = any.fields().num_src_nodes;
  report.num_dst_nodes = any.fields().num_dst_nodes;
  const IdWidth node_width = node_id_width(report.num_src_nodes, report.num_dst_nodes);

  GlWriter writer(path);
  // A checksum is made from the beginning of a section to its end, so each has a thread of its own.
  std::vector<std::function<void()>> jobs;
  for (const auto& owned : indexes) {
    const Index& index = *owned;
    const auto reserve = [&](GlRole role, Dtype dtype, std::uint64_t count) -> Output& {
      return writer.reserve(index.direction(), role, dtype, count);
    };
    const auto add_copy = [&](GlRole role, Dtype dtype) {
      index.expect(role, dtype);
      Output& output = reserve(role, dtype, index.num_entries);
      jobs.emplace_back([&index, role, dtype, &output] { index.copy(role, dtype, output); });
    };
    Output& indptr = reserve(GlRole::kIndptr, Dtype::kInt64, index.num_nodes() + 1);
    jobs.emplace_back([&index, &indptr] { index.copy_offsets(indptr); });
    add_copy(GlRole::kIndices, id_dtype(node_width));
    // Positions are edge ids where the input is in the order of the index and nothing was dropped.
    const bool identity = any.is(kPartDropped) ? report.num_rows == 0 : index.ascends();
    if (index.has(GlRole::kEdgeIds) && !identity)
      add_copy(GlRole::kEdgeIds, id_dtype(id_width_for(report.num_rows)));
    if (index.has(GlRole::kWeights)) add_copy(GlRole::kWeights, Dtype::kFloat32);
    if (index.has(GlRole::kTimes)) add_copy(GlRole::kTimes, Dtype::kInt64);
    if (index.has(GlRole::kWeights)) {
      Output& sums =
          reserve(GlRole::kWeightSums, Dtype::kFloat64, num_weight_sums(index.num_entries));
      jobs.emplace_back([&index, &sums] { index.sum_weights(sums); });
    }
    report.num_edges = index.num_entries;
    report.num_duplicates = index.num_duplicates;
  }
  parallel_chunks(jobs.size(), 1, [&](std::size_t job, std::size_t) { jobs[job](); });

  GlInfo info;
  info.directed = any.is(kPartDirected);
  info.bipartite = any.is(kPartBipartite);
  const std::uint64_t num_input =
      indexes.front()->has(GlRole::kEdgeIds) || !info.directed ? report.num_rows : report.num_edges;
  info.counts = {report.num_src_nodes, report.num_dst_nodes, report.num_edges, num_input};
  writer.finish(info);
  return report;
}

}  // namespace gz
