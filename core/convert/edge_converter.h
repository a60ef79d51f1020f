// Edges from anywhere in any order in, a .gl out, in a fixed budget of memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/types.h"
#include "core/convert/text_edges.h"

namespace gz {

struct EdgeConverterOptions {
  bool directed = true;  // if not, each edge is stored both ways and one index serves as both
  bool bipartite = false;
  bool out_index = true;
  bool in_index = true;
  bool edge_ids = true;  // keep the way back to the input's order
  bool weights = false;
  bool times = false;
  bool drop_duplicates = false;
  bool drop_self_loops = false;
  bool skip_bad_lines = false;
  NodeId num_src_nodes = -1;  // negative: one more than the largest id
  NodeId num_dst_nodes = -1;
  std::uint64_t num_rows = ~std::uint64_t{0};     // expected: few edges are put into few buckets
  std::uint64_t memory = std::uint64_t{1} << 30;  // bytes this conversion may hold
  std::string temporary_folder;
};

struct EdgeReport {
  std::uint64_t num_rows = 0;  // edges read; bad lines are not among them
  std::uint64_t num_lines = 0;
  BadLines bad_lines;
  std::uint64_t num_self_loops = 0;
  std::uint64_t num_duplicates = 0;  // of (source, destination), or with times of all three
  std::uint64_t num_edges = 0;       // entries stored in each index
  std::uint64_t num_src_nodes = 0;
  std::uint64_t num_dst_nodes = 0;
  std::uint64_t smallest_id = 0;
  std::uint64_t largest_id = 0;
  std::uint64_t spilled_bytes = 0;
};

// Add edges, from one thread at a time, then finish(); the core's threads work inside each call.
// Edge ids count rows in the order they were added.
class EdgeConverter {
 public:
  explicit EdgeConverter(const EdgeConverterOptions& options);
  ~EdgeConverter();

  // Parses input[begin, end). `lines_before` lines of it come before that. Throws
  // std::invalid_argument naming file, line and text of a bad line unless those are skipped.
  // Returns how many lines it read.
  std::uint64_t add_text(const TextInput& input, std::uint64_t begin, std::uint64_t lines_before,
                         const TextFormat& format, const EdgeColumns& columns);
  // Columns of equal length; weight and time as the options say. Throws std::out_of_range naming
  // the row of a negative or too large id, std::invalid_argument for a weight.
  void add_edges(std::span<const NodeId> src, std::span<const NodeId> dst,
                 std::span<const float> weight, std::span<const std::int64_t> time);

  // Writes the file. The converter is spent afterwards.
  EdgeReport finish(const std::string& path);
  // Writes the records instead, unsorted, for a conversion by parts (record_file.h): edge ids count
  // the rows of this converter alone. The file keeps `origin`, so that one under the name of
  // another is noticed. The converter is spent afterwards.
  void finish_records(const std::string& path, std::uint64_t other_bad_lines, std::uint64_t origin);

  // How far the call that is running on another thread has come: bytes of text read so far in all,
  // rows so far, entries written so far.
  struct Done {
    std::uint64_t text_bytes = 0;
    std::uint64_t rows = 0;
    std::uint64_t entries = 0;
    std::uint64_t largest_id = 0;
  };
  Done done() const;

 private:
  class Engine;
  template <class Narrow>
  class TypedEngine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace gz
