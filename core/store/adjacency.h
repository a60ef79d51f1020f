// Is there an edge? Looked up in the shorter of the two lists that would hold it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/types.h"
#include "core/store/index_reader.h"
#include "core/store/topology.h"

namespace gz {

// Lists in order of neighbour are searched by halving. Lists in order of time, and those of
// GraphZero 0.2, are read from end to end. Node arguments are trusted; use inside guarded(), as
// IndexReader.
template <class Id>
class EdgeLookup {
 public:
  // As many searches as run side by side, so that they wait for memory together.
  static constexpr std::size_t kGroup = 32;

  explicit EdgeLookup(const Topology& graph) : searchable_(graph.in_order_of_neighbor()) {
    if (graph.has(Direction::kOut)) out_.emplace(graph, Direction::kOut);
    if (graph.has(Direction::kIn)) in_.emplace(graph, Direction::kIn);
  }

  // Whether lists are in order of neighbour.
  bool searchable() const { return searchable_; }
  // Null: the file does not store this index.
  const IndexReader<Id>* in() const { return in_ ? &*in_ : nullptr; }

  // found[i] = 1 if src[i] → dst[i] is an edge, else 0.
  void test(std::span<const NodeId> src, std::span<const NodeId> dst, std::uint8_t* found) const {
    for (std::size_t begin = 0; begin < src.size(); begin += kGroup) {
      const std::size_t count = std::min(kGroup, src.size() - begin);
      test_group(src.subspan(begin, count), dst.subspan(begin, count), found + begin);
    }
  }

  // Whether `list`, which must be searchable, names `wanted`.
  static bool holds(const IndexReader<Id>& index, EdgeRange list, NodeId wanted) {
    Search search = {&index, wanted, list.begin, list.size(), list.end};
    while (search.count > 0) search.narrow();
    return search.found();
  }

 private:
  struct Search {
    const IndexReader<Id>* index;
    NodeId wanted;
    EdgeId low;    // entries before this one are below `wanted`
    EdgeId count;  // entries still to be compared
    EdgeId end;

    [[gnu::always_inline]] void expect() const { index->prefetch_entry(low + count / 2); }
    void narrow() {
      const EdgeId half = count / 2;
      const bool below = index->neighbor(low + half) < wanted;
      low = below ? low + half + 1 : low;
      count = below ? count - half - 1 : half;
    }
    bool found() const { return low < end && index->neighbor(low) == wanted; }
    bool scan() const {
      for (EdgeId at = low; at < end; ++at) {
        if (index->neighbor(at) == wanted) return true;
      }
      return false;
    }
  };

  Search begin_search(NodeId src, NodeId dst) const {
    const EdgeRange out = out_ ? out_->edges_of(src) : EdgeRange{};
    const EdgeRange in = in_ ? in_->edges_of(dst) : EdgeRange{};
    if (!in_ || (out_ && out.size() <= in.size()))
      return {&*out_, dst, out.begin, out.size(), out.end};
    return {&*in_, src, in.begin, in.size(), in.end};
  }

  void test_group(std::span<const NodeId> src, std::span<const NodeId> dst,
                  std::uint8_t* found) const {
    for (std::size_t i = 0; i < src.size(); ++i) {
      if (out_) out_->prefetch_range(src[i]);
      if (in_) in_->prefetch_range(dst[i]);
    }
    std::array<Search, kGroup> searches;
    for (std::size_t i = 0; i < src.size(); ++i) {
      searches[i] = begin_search(src[i], dst[i]);
      searches[i].expect();
    }
    if (!searchable_) {
      for (std::size_t i = 0; i < src.size(); ++i) found[i] = searches[i].scan();
      return;
    }
    for (bool more = true; more;) {
      more = false;
      for (std::size_t i = 0; i < src.size(); ++i) {
        if (searches[i].count == 0) continue;
        searches[i].narrow();
        searches[i].expect();
        more = true;
      }
    }
    for (std::size_t i = 0; i < src.size(); ++i) found[i] = searches[i].found();
  }

  bool searchable_;
  std::optional<IndexReader<Id>> out_;
  std::optional<IndexReader<Id>> in_;
};

// Item i is 1 if src[i] → dst[i] is an edge, else 0. Throws std::invalid_argument if the lengths
// differ, std::out_of_range naming a node that is not there and its position.
std::vector<std::uint8_t> has_edges(const Topology& graph, std::span<const NodeId> src,
                                    std::span<const NodeId> dst);

}  // namespace gz
