// What is known of the nodes of a synthetic graph: class, feature row, place, membership of a
// split.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/types.h"
#include "core/synth/synthetic_edges.h"

namespace gz {

// Of how many values the noise of an item is: the sum of four bytes. Its mean is 510, its variance
// (2^16 - 1) / 3, and it is close to normal.
inline constexpr std::size_t kNoiseValues = 4 * 255 + 1;

// Any block of nodes, or of places, at any time; the same for any number of threads. `classes` must
// not be 0. Throws std::out_of_range if a range goes beyond the nodes.
class SyntheticNodes {
 public:
  SyntheticNodes(std::uint64_t seed, SynthNodes nodes, std::uint64_t classes);

  // Classes of the nodes from `first` on.
  void fill_labels(std::uint64_t first, std::span<std::int64_t> out) const;

  // Feature rows of `width` items for nodes first, first + 1, …, or if `by_place` for the nodes at
  // those places. An item is stored as one of 2 * kNoiseValues values of `item_bytes` bytes each:
  // the first half of `values` by noise for columns where the class's centroid is negative, then
  // those for columns where it is positive. Noise depends on the node, whatever the order. Items
  // have 2, 4 or 8 bytes, and `values` and `out` are aligned to them.
  void fill_rows(std::uint64_t first, bool by_place, std::size_t width, std::size_t item_bytes,
                 std::span<const std::byte> values, std::span<std::byte> out) const;

  // Places of the nodes from `first` on. Id is int32_t or int64_t.
  template <class Id>
  void fill_places(std::uint64_t first, std::span<Id> out) const;

  // Those of the nodes first … end-1 whose lot is in [from, to), in order of id. Each node has a
  // lot of its own below the number of nodes, so disjoint ranges of lots are disjoint splits of
  // exactly their sizes.
  std::vector<NodeId> with_lots(std::uint64_t first, std::uint64_t end, std::uint64_t from,
                                std::uint64_t to) const;

 private:
  template <class Item>
  void fill_items(std::uint64_t first, bool by_place, std::size_t width, const Item* values,
                  std::span<Item> out) const;

  std::uint64_t classes_;
  NodePlaces places_;
  NodePlaces lots_;
  Key centroids_;
  Key noise_;
};

}  // namespace gz
