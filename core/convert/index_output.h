// The sections of one index, written stretch by stretch in order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/temporary_file.h"
#include "core/convert/bucket_sorter.h"
#include "core/format/gl_writer.h"
#include "core/format/weight_sums.h"

namespace gz {

struct IndexShape {
  Direction direction = Direction::kOut;
  std::uint64_t first_node = 0;   // of a part of an index
  std::uint64_t num_nodes = 0;    // from there on
  std::uint64_t num_entries = 0;  // an upper bound where duplicates are dropped
  IdWidth id_width = IdWidth::k4;
  IdWidth edge_id_width = IdWidth::k4;
  bool edge_ids = true;  // false where they would be the identity, or are not wanted
  bool weights = false;
  bool weight_sums = true;  // beside weights; a part cannot know them, as they count positions
  bool times = false;
  bool drop_duplicates = false;  // of (node, neighbour) keep the lowest edge id
};

// A stretch as it will stand in the file.
struct PackedStretch {
  struct Entry {
    std::uint64_t key = 0;
    std::uint64_t neighbor = 0;
    std::int64_t time = 0;
    bool operator==(const Entry&) const = default;
  };
  std::vector<KeyRun> runs;
  std::uint64_t count = 0;
  std::uint64_t num_duplicates = 0;
  Entry first, last;
  std::vector<std::byte> indices, edge_ids, weights, times;

  // What it holds, whether used or not.
  std::uint64_t num_bytes() const {
    return runs.capacity() * sizeof(KeyRun) + indices.capacity() + edge_ids.capacity() +
           weights.capacity() + times.capacity();
  }
};

class IndexOutput {
 public:
  // Where the number of entries is not known, columns wait in files in `folder` until it is.
  IndexOutput(GlWriter& writer, const IndexShape& shape, const std::string& folder);
  ~IndexOutput();

  // Finds duplicates, and drops them if the shape says so. Safe on many threads at once.
  template <class Id>
  void pack(IndexStretch<Id>& stretch, PackedStretch& out) const;

  // In key order, one thread at a time.
  void add(PackedStretch& stretch);
  // After the last stretch.
  void finish();

  std::uint64_t num_entries() const { return num_entries_; }
  std::uint64_t num_duplicates() const { return num_duplicates_; }
  // Where entries are numbered like the input from this edge id on; not before there are any.
  std::optional<std::uint64_t> first_edge() const { return ascends_ ? first_edge_ : std::nullopt; }

 private:
  class Column;

  void advance_to(std::uint64_t key);
  void flush_indptr();
  std::uint64_t skip_repeats(PackedStretch& stretch);
  template <class Id>
  void note_edges(std::span<const Id> edges, std::uint64_t position);

  GlWriter& writer_;
  IndexShape shape_;
  std::vector<std::unique_ptr<Column>> columns_;
  Column* indptr_ = nullptr;
  Column* indices_ = nullptr;
  Column* edge_ids_ = nullptr;
  Column* weights_ = nullptr;
  Column* times_ = nullptr;
  Column* weight_sums_ = nullptr;
  std::vector<std::int64_t> pending_indptr_;
  WeightSums sums_;
  std::vector<double> pending_sums_;
  std::uint64_t next_key_ = 0;  // offsets of all keys below this have been written
  std::uint64_t num_entries_ = 0;
  std::uint64_t num_duplicates_ = 0;
  std::optional<PackedStretch::Entry> last_;
  std::optional<std::uint64_t> first_edge_;
  bool ascends_ = true;
};

}  // namespace gz
