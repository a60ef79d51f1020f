// A mounted .gl: who is whose neighbour, straight from the mapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/types.h"
#include "core/format/gl.h"
#include "core/store/cold_detector.h"

namespace gz {

// Entries begin … end-1 of an index belong to one node.
struct EdgeRange {
  EdgeId begin = 0;
  EdgeId end = 0;
  EdgeId size() const { return end - begin; }
};

// Views into the mapping. `indices` and `edge_ids` hold ids of the topology's widths.
struct Index {
  std::span<const std::int64_t> indptr;
  const std::byte* indices = nullptr;
  const std::byte* edge_ids = nullptr;  // null: an entry's position is its edge id
  std::span<const float> weights;       // empty: unweighted
  std::span<const std::int64_t> times;  // empty: no timestamps
  std::span<const double> weight_sums;  // empty: not stored
};

// Opening proves the header, not the O(edges) contents: whoever follows an offset or an id compares
// it with its bound first. Safe to share between threads.
class Topology {
 public:
  // O(1) in time and memory. Throws IoError or FormatError.
  explicit Topology(const std::string& path);

  const std::string& path() const { return mapping_->path(); }
  const GlLayout& layout() const { return layout_; }
  const std::shared_ptr<const MappedFile>& mapping() const { return mapping_; }

  // Shared by all who read this topology at random.
  ColdDetector& cold_detector() const { return cold_detector_; }

  // Nodes that have a list in this direction, and nodes those lists name.
  NodeId num_nodes(Direction direction) const;
  NodeId num_neighbor_nodes(Direction direction) const;
  EdgeId num_edges() const { return static_cast<EdgeId>(layout_.num_edges); }

  bool has(Direction direction) const;
  // Whether a list can be searched by neighbour: those with times are in order of time, those of
  // GraphZero 0.2 in none.
  bool in_order_of_neighbor() const;
  // Throws std::invalid_argument if the file does not store this index.
  const Index& index(Direction direction) const;

  // Item j is the sum, in float64 and in list order, of the weights before entry j * kWeightStride
  // in the list that holds this entry. They are as the file stores them, unproven like all it
  // holds. A file that does not (GraphZero 0.2) gets them built at the first call: one pass over
  // the weights, half a byte of memory per edge; FormatError if a weight is not finite or negative.
  // Throws std::invalid_argument if the graph has no weights.
  std::span<const double> weight_sums(Direction direction) const;

  // The parts of the file that drawing in a direction reads. Throws as index().
  std::vector<ByteRange> drawn_from(Direction direction, bool edge_ids, bool weights,
                                    bool times) const;

  // Throws std::out_of_range naming `node` if it has no list, FormatError if its offsets are
  // corrupt.
  EdgeRange edges_of(Direction direction, NodeId node) const;

  // out[i] = degree of nodes[i]. Errors as edges_of, with the position in `nodes`.
  void degrees(Direction direction, std::span<const NodeId> nodes,
               std::span<std::int64_t> out) const;

 private:
  Index view(const GlIndex& index) const;
  EdgeRange checked_range(const Index& index, NodeId node) const;
  std::vector<double> build_weight_sums(const Index& index) const;

  GlLayout layout_;
  std::shared_ptr<const MappedFile> mapping_;
  std::optional<Index> out_;
  std::optional<Index> in_;
  mutable ColdDetector cold_detector_;
  mutable std::mutex mutex_;
  mutable std::vector<double> built_sums_[2];  // by direction
};

}  // namespace gz
