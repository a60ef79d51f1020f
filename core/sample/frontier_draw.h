// Draws the neighbours of a stretch of the frontier: the part of sampling that waits for memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/parallel.h"
#include "core/base/random.h"
#include "core/sample/candidates.h"
#include "core/sample/excluded_edges.h"
#include "core/sample/picked.h"
#include "core/sample/time_limit.h"
#include "core/store/index_reader.h"
#include "core/store/page_requests.h"

namespace gz {

// The nodes whose neighbours are drawn. Views of the sample, which may move when that grows.
struct Frontier {
  std::span<const NodeId> nodes;
  std::span<const std::int64_t> trees;  // disjoint samples: beside the nodes
  std::int64_t first_local = 0;         // local id of nodes[0]
};

// What was drawn for stretches of the frontier, node by node.
struct Drawn {
  Buffer<std::int64_t> counts;  // one per node
  Buffer<NodeId> neighbors;
  Buffer<EdgeId> edges;  // ids, or positions

  void reserve(std::size_t num_nodes, std::size_t num_edges) {
    counts.reserve(num_nodes);
    neighbors.reserve(num_edges);
    edges.reserve(num_edges);
  }
  void clear() {
    counts.clear();
    neighbors.clear();
    edges.clear();
  }
};

// Which entries of a list may be drawn. All of them, where nothing is set.
struct Limits {
  std::optional<TimeLimit> time;
  std::span<const std::int64_t> seed_times;  // by tree
  const ExcludedEdges* excluded = nullptr;
};

// One per thread at work: a pick keeps memory of its own.
template <class Id, class Pick>
class FrontierDraw {
 public:
  // A node's draws are keyed by `hop`, the node and, in disjoint samples, its tree. Edges are drawn
  // with the ids that `entries` has for them; `reader`, of the same index, has them all.
  FrontierDraw(IndexReader<Id> reader, IndexReader<Id> entries, Pick pick, const Limits& limits,
               EdgeId fanout, Key hop)
      : reader_(reader),
        entries_(entries),
        pick_(std::move(pick)),
        limits_(limits),
        fanout_(fanout),
        hop_(hop),
        picked_(entries) {}

  // Appends what nodes begin … end-1 of the frontier draw.
  void draw(const Frontier& frontier, std::size_t begin, std::size_t end, Drawn& out) {
    ColdDetector& detector = reader_.graph().cold_detector();
    bool cold = detector.cold();
    ColdDetector::Stretch stretch(detector);
    if (!cold) prefetch_ranges(frontier, begin, end);
    while (begin < end) {
      const std::size_t next = cold ? end : std::min(end, begin + kGroup);
      if (cold) request_offsets(frontier, begin, next);
      prefetch_ranges(frontier, next, end);
      picked_.clear();
      prepare(frontier, begin, next);
      for (std::size_t i = begin; i < next; ++i) pick(frontier, i, out);
      if (cold) request_entries();
      read_entries(out);
      // Looked at once, after the first group: had it to wait for the device, the rest need not.
      if (!cold && !looked_) cold = stretch.end(next - begin + 2 * picked_.size());
      looked_ = true;
      begin = next;
    }
    looked_ = false;
  }

 private:
  // Frontier nodes whose memory reads are in flight together.
  static constexpr std::size_t kGroup = 16;
  // Entries that take some milliseconds.
  static constexpr std::size_t kLong = 1 << 18;

  // The first group from `begin` on.
  [[gnu::always_inline]] void prefetch_ranges(const Frontier& frontier, std::size_t begin,
                                              std::size_t end) const {
    for (std::size_t i = begin; i < std::min(end, begin + kGroup); ++i)
      reader_.prefetch_range(frontier.nodes[i]);
  }

  // Some picks read more than offsets before they draw.
  [[gnu::always_inline]] void prepare(const Frontier& frontier, std::size_t begin,
                                      std::size_t end) const {
    if constexpr (requires { pick_.prepare(EdgeRange{}, fanout_); }) {
      for (std::size_t i = begin; i < end; ++i) {
        const EdgeRange list = reader_.edges_of(frontier.nodes[i]);
        if (list.size() > 0) pick_.prepare(list, fanout_);
      }
    }
  }

  [[gnu::always_inline]] void pick(const Frontier& frontier, std::size_t i, Drawn& out) {
    const NodeId node = frontier.nodes[i];
    const EdgeRange list = reader_.edges_of(node);
    const std::size_t before = picked_.size();
    if (list.size() > 0) {
      Candidates candidates{list, list, {}, {}, false};
      if (limits_.time) limit_time(frontier.trees[i], candidates);
      if (limits_.excluded != nullptr) exclude(node, candidates);
      Key key = hop_.with(static_cast<std::uint64_t>(node));
      if (!frontier.trees.empty()) key = key.with(static_cast<std::uint64_t>(frontier.trees[i]));
      pick_.pick(candidates, fanout_, key, picked_);
      if (reads_lists()) note_work(static_cast<std::size_t>(list.size()));
    }
    out.counts.push_back(static_cast<std::int64_t>(picked_.size() - before));
  }

  void limit_time(std::int64_t tree, Candidates& candidates) {
    const std::int64_t newest = limits_.seed_times[static_cast<std::size_t>(tree)];
    if (limits_.time->node_times.empty()) {
      candidates.range = limits_.time->stretch(candidates.list, newest);
    } else {
      limits_.time->choose(reader_, candidates.list, newest, chosen_);
      candidates.chosen = chosen_;
      candidates.has_chosen = true;
    }
  }

  void exclude(NodeId node, Candidates& candidates) {
    limits_.excluded->find(reader_, node, candidates.range, holes_);
    if (holes_.empty()) return;
    if (candidates.has_chosen) {
      std::erase_if(chosen_, [&](EdgeId position) {
        return std::binary_search(holes_.begin(), holes_.end(), position);
      });
      candidates.chosen = chosen_;
    } else {
      candidates.holes = holes_;
    }
  }

  void read_entries(Drawn& out) {
    const std::size_t count = picked_.size();
    NodeId* const neighbors = out.neighbors.extend(count);
    EdgeId* const edges = out.edges.extend(count);
    const EdgeId* const positions = picked_.positions().data();
    for (std::size_t j = 0; j < count; ++j) {
      neighbors[j] = reader_.neighbor(positions[j]);
      edges[j] = entries_.edge_id(positions[j]);
    }
    note_work(count);
  }

  bool reads_lists() const {
    return Pick::kReadsLists || (limits_.time && !limits_.time->node_times.empty());
  }

  // Asks now and then whether to stop.
  void note_work(std::size_t entries) {
    work_ += entries;
    if (work_ < kLong) return;
    work_ = 0;
    check_interrupt();
  }

  void request_offsets(const Frontier& frontier, std::size_t begin, std::size_t end) {
    addresses_.clear();
    for (std::size_t i = begin; i < end; ++i) {
      addresses_.push_back(reader_.offset_of(frontier.nodes[i]));
      addresses_.push_back(reader_.offset_of(frontier.nodes[i]) + 1);
    }
    request_scattered(addresses_);
    if (!reads_lists()) return;
    for (std::size_t i = begin; i < end; ++i) {
      const EdgeRange list = reader_.edges_of(frontier.nodes[i]);
      PageRequests(0).touch(reader_.entry(list.begin),
                            static_cast<std::size_t>(list.size()) * sizeof(Id));
    }
  }

  void request_entries() {
    addresses_.clear();
    for (const EdgeId position : picked_.positions()) {
      addresses_.push_back(entries_.entry(position));
      if (entries_.has_edge_ids()) addresses_.push_back(entries_.edge_id_address(position));
    }
    request_scattered(addresses_);
  }

  IndexReader<Id> reader_;
  IndexReader<Id> entries_;
  Pick pick_;
  const Limits& limits_;
  EdgeId fanout_;
  Key hop_;
  bool looked_ = false;
  std::size_t work_ = 0;  // entries since it was asked whether to stop
  Picked<Id> picked_;
  std::vector<EdgeId> holes_;
  std::vector<EdgeId> chosen_;
  std::vector<const void*> addresses_;
};

}  // namespace gz
