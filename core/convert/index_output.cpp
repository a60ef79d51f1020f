#include "core/convert/index_output.h"

#include <algorithm>

namespace gz {

// A section of the file, or a temporary file that becomes one when its length is known.
class IndexOutput::Column {
 public:
  Column(GlWriter& writer, Direction direction, GlRole role, Dtype dtype, std::uint64_t count)
      : writer_(writer),
        direction_(direction),
        role_(role),
        dtype_(dtype),
        reserved_(&writer.reserve(direction, role, dtype, count)) {}
  Column(GlWriter& writer, Direction direction, GlRole role, Dtype dtype, const std::string& folder)
      : writer_(writer),
        direction_(direction),
        role_(role),
        dtype_(dtype),
        waiting_(std::make_unique<TemporaryFile>(folder)) {}

  void append(std::span<const std::byte> bytes) {
    if (reserved_ != nullptr) {
      reserved_->append(bytes);
    } else {
      waiting_->append(bytes);
    }
  }

  void finish() {
    if (reserved_ != nullptr) return;
    writer_.begin(direction_, role_, dtype_);
    waiting_->for_each_block([&](std::span<const std::byte> part) { writer_.append(part); });
    writer_.end();
    waiting_.reset();
  }

 private:
  GlWriter& writer_;
  Direction direction_;
  GlRole role_;
  Dtype dtype_;
  ContainerWriter::Reserved* reserved_ = nullptr;
  std::unique_ptr<TemporaryFile> waiting_;
};

IndexOutput::IndexOutput(GlWriter& writer, const IndexShape& shape, const std::string& folder)
    : writer_(writer), shape_(shape), next_key_(shape.first_node) {
  const auto add_column = [&](GlRole role, Dtype dtype, std::uint64_t count, bool count_is_known) {
    columns_.push_back(
        count_is_known ? std::make_unique<Column>(writer_, shape_.direction, role, dtype, count)
                       : std::make_unique<Column>(writer_, shape_.direction, role, dtype, folder));
    return columns_.back().get();
  };
  const bool known = !shape_.drop_duplicates;
  indptr_ = add_column(GlRole::kIndptr, Dtype::kInt64, shape_.num_nodes + 1, true);
  indices_ = add_column(GlRole::kIndices, id_dtype(shape_.id_width), shape_.num_entries, known);
  if (shape_.edge_ids) {
    edge_ids_ =
        add_column(GlRole::kEdgeIds, id_dtype(shape_.edge_id_width), shape_.num_entries, known);
  }
  if (shape_.weights)
    weights_ = add_column(GlRole::kWeights, Dtype::kFloat32, shape_.num_entries, known);
  if (shape_.times) times_ = add_column(GlRole::kTimes, Dtype::kInt64, shape_.num_entries, known);
  if (shape_.weights && shape_.weight_sums) {
    weight_sums_ = add_column(GlRole::kWeightSums, Dtype::kFloat64,
                              num_weight_sums(shape_.num_entries), known);
  }
}

IndexOutput::~IndexOutput() = default;

void IndexOutput::flush_indptr() {
  indptr_->append(std::as_bytes(std::span(pending_indptr_)));
  pending_indptr_.clear();
}

// The list of every key up to and including `key` starts at or before what has been written.
void IndexOutput::advance_to(std::uint64_t key) {
  constexpr std::size_t kFlush = 1 << 16;
  while (next_key_ <= key) {
    const std::uint64_t count =
        std::min<std::uint64_t>(key - next_key_ + 1, kFlush - pending_indptr_.size());
    pending_indptr_.insert(pending_indptr_.end(), count, static_cast<std::int64_t>(num_entries_));
    next_key_ += count;
    if (pending_indptr_.size() == kFlush) flush_indptr();
  }
}

namespace {

template <class Stored, class Item>
void convert(const std::vector<Item>& items, std::size_t count, std::vector<std::byte>& out) {
  out.resize(count * sizeof(Stored));
  auto* const stored = reinterpret_cast<Stored*>(out.data());
  for (std::size_t i = 0; i < count; ++i) stored[i] = static_cast<Stored>(items[i]);
}

template <class Id>
void convert_ids(const std::vector<Id>& ids, std::size_t count, IdWidth width,
                 std::vector<std::byte>& out) {
  if (width == IdWidth::k4) {
    convert<std::int32_t>(ids, count, out);
  } else {
    convert<std::int64_t>(ids, count, out);
  }
}

// Equal neighbours, and times where there are any, stand side by side in a list.
template <class Id>
bool same_entry(const IndexStretch<Id>& stretch, std::size_t a, std::size_t b, bool times) {
  return stretch.neighbors[a] == stretch.neighbors[b] &&
         (!times || stretch.times[a] == stretch.times[b]);
}

template <class Id>
std::uint64_t drop_duplicates(IndexStretch<Id>& stretch, const IndexShape& shape) {
  std::size_t read = 0, kept = 0;
  for (KeyRun& run : stretch.runs) {
    std::uint64_t kept_of_run = 0;
    for (std::uint64_t i = 0; i < run.count; ++i, ++read) {
      if (kept_of_run > 0 && same_entry(stretch, kept - 1, read, shape.times)) continue;
      stretch.neighbors[kept] = stretch.neighbors[read];
      if (shape.edge_ids) stretch.edges[kept] = stretch.edges[read];
      if (shape.weights) stretch.weights[kept] = stretch.weights[read];
      if (shape.times) stretch.times[kept] = stretch.times[read];
      ++kept;
      ++kept_of_run;
    }
    run.count = kept_of_run;
  }
  const std::uint64_t dropped = stretch.count - kept;
  stretch.count = kept;
  return dropped;
}

template <class Id>
std::uint64_t count_duplicates(const IndexStretch<Id>& stretch, bool times) {
  std::uint64_t duplicates = 0;
  std::size_t at = 0;
  for (const KeyRun& run : stretch.runs) {
    for (std::uint64_t i = 1; i < run.count; ++i)
      duplicates += same_entry(stretch, at + i - 1, at + i, times);
    at += run.count;
  }
  return duplicates;
}

}  // namespace

template <class Id>
void IndexOutput::pack(IndexStretch<Id>& stretch, PackedStretch& out) const {
  out.num_duplicates = shape_.drop_duplicates ? drop_duplicates(stretch, shape_)
                                              : count_duplicates(stretch, shape_.times);
  out.count = stretch.count;
  out.runs.swap(stretch.runs);
  if (out.count == 0) return;
  const auto entry = [&](std::uint64_t key, std::size_t i) {
    return PackedStretch::Entry{key, stretch.neighbors[i], shape_.times ? stretch.times[i] : 0};
  };
  out.first = entry(out.runs.front().key, 0);
  out.last = entry(out.runs.back().key, stretch.count - 1);
  convert_ids(stretch.neighbors, stretch.count, shape_.id_width, out.indices);
  if (shape_.edge_ids)
    convert_ids(stretch.edges, stretch.count, shape_.edge_id_width, out.edge_ids);
  if (shape_.weights) convert<float>(stretch.weights, stretch.count, out.weights);
  if (shape_.times) convert<std::int64_t>(stretch.times, stretch.count, out.times);
}

template void IndexOutput::pack(IndexStretch<std::uint32_t>&, PackedStretch&) const;
template void IndexOutput::pack(IndexStretch<std::uint64_t>&, PackedStretch&) const;

// A bucket too large for memory comes in several stretches, and copies of one entry may be cut
// apart. Where duplicates are dropped a stretch starts with one such copy at most.
std::uint64_t IndexOutput::skip_repeats(PackedStretch& stretch) {
  if (last_ != stretch.first) return 0;
  ++num_duplicates_;
  if (!shape_.drop_duplicates) return 0;
  --stretch.runs.front().count;
  --stretch.count;
  return 1;
}

namespace {

template <class Item>
std::span<const Item> items_of(const std::vector<std::byte>& bytes, std::size_t skipped) {
  return std::span(reinterpret_cast<const Item*>(bytes.data()), bytes.size() / sizeof(Item))
      .subspan(skipped);
}

}  // namespace

// Ends at the first entry that is out of order, which is one of the first of nearly every input.
template <class Id>
void IndexOutput::note_edges(std::span<const Id> edges, std::uint64_t position) {
  if (!first_edge_ && !edges.empty()) first_edge_ = static_cast<std::uint64_t>(edges[0]) - position;
  for (std::size_t i = 0; i < edges.size() && ascends_; ++i)
    ascends_ = static_cast<std::uint64_t>(edges[i]) == *first_edge_ + position + i;
}

void IndexOutput::add(PackedStretch& stretch) {
  num_duplicates_ += stretch.num_duplicates;
  if (stretch.count == 0) return;
  const std::uint64_t skipped = skip_repeats(stretch);
  last_ = stretch.last;
  std::span<const float> weights;
  if (shape_.weights)
    weights = {reinterpret_cast<const float*>(stretch.weights.data()) + skipped, stretch.count};
  for (const KeyRun& run : stretch.runs) {
    if (next_key_ <= run.key) sums_.start_list();
    advance_to(run.key);
    num_entries_ += run.count;
    if (weight_sums_ != nullptr) {
      sums_.add(weights.first(run.count), pending_sums_);
      weights = weights.subspan(run.count);
    }
  }
  if (edge_ids_ != nullptr && ascends_) {
    const std::uint64_t position = num_entries_ - stretch.count;
    if (shape_.edge_id_width == IdWidth::k4) {
      note_edges(items_of<std::int32_t>(stretch.edge_ids, skipped), position);
    } else {
      note_edges(items_of<std::int64_t>(stretch.edge_ids, skipped), position);
    }
  }
  const auto append = [&](Column* column, const std::vector<std::byte>& bytes, std::size_t item) {
    if (column != nullptr) column->append(std::span(bytes).subspan(skipped * item));
  };
  append(indices_, stretch.indices, static_cast<std::size_t>(shape_.id_width));
  append(edge_ids_, stretch.edge_ids, static_cast<std::size_t>(shape_.edge_id_width));
  append(weights_, stretch.weights, sizeof(float));
  append(times_, stretch.times, sizeof(std::int64_t));
  if (weight_sums_ != nullptr) {
    weight_sums_->append(std::as_bytes(std::span(pending_sums_)));
    pending_sums_.clear();
  }
}

void IndexOutput::finish() {
  advance_to(shape_.first_node + shape_.num_nodes);
  flush_indptr();
  for (const auto& column : columns_) column->finish();
}

}  // namespace gz
