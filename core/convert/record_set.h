// What all tasks of a conversion by parts have written: its totals, and where an index is cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/convert/edge_converter.h"
#include "core/convert/record_file.h"

namespace gz {

class RecordSet {
 public:
  // One file per task, in the order of the input. Throws std::invalid_argument if they were made
  // with other options than these.
  RecordSet(const std::vector<std::string>& paths, const EdgeConverterOptions& options);
  RecordSet(const RecordSet&) = delete;
  RecordSet& operator=(const RecordSet&) = delete;

  const std::vector<std::unique_ptr<RecordFile>>& files() const { return files_; }
  // The edge id of a file's first row.
  std::uint64_t first_edge(std::size_t file) const { return first_edges_[file]; }
  const EdgeConverterOptions& options() const { return options_; }

  // Rows, lines, loops, ids, nodes and spilled bytes are those of all tasks; nothing else is known.
  const EdgeReport& totals() const { return totals_; }
  // What each file keeps of finish_records().
  std::vector<std::uint64_t> origins() const;
  bool has_index(Direction direction) const;
  std::uint64_t num_nodes(Direction direction) const {
    return direction == Direction::kOut ? totals_.num_src_nodes : totals_.num_dst_nodes;
  }
  bool has_wide() const { return has_wide_; }
  std::uint64_t num_records(Direction direction) const;

  // An index in buckets of one size, and where each of `num_parts` parts begins: in buckets, with
  // the number of all behind them. Parts have about as many records each; some may have no bucket.
  struct Cuts {
    std::uint32_t shift = 0;
    std::vector<std::uint64_t> bounds;
  };
  Cuts cuts(Direction direction, std::size_t num_parts) const;

 private:
  EdgeConverterOptions options_;
  std::vector<std::unique_ptr<RecordFile>> files_;
  std::vector<std::uint64_t> first_edges_;
  EdgeReport totals_;
  bool has_wide_ = false;
};

}  // namespace gz
