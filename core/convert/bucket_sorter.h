// Sorts the records of one bucket and lays them out as the columns of an index.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/radix_sort.h"
#include "core/convert/edge_record.h"

namespace gz {

// A stretch of an index: `count` entries in order. Vectors keep their memory from bucket to bucket.
struct IndexStretch {
  struct Run {
    std::uint64_t key;
    std::uint64_t count;
  };
  std::vector<Run> runs;  // ascending keys, those without entries left out
  std::size_t count = 0;
  std::vector<std::uint64_t> neighbors;
  std::vector<std::uint64_t> edges;
  std::vector<float> weights;
  std::vector<std::int64_t> times;
};

template <class Record>
class BucketSorter {
 public:
  // `records` hold keys from `first_key` on, fewer than 2^key_bits of them, and neighbours and edge
  // ids of at most so many bits.
  void sort(std::vector<Record>& records, std::uint64_t first_key, int key_bits, int neighbor_bits,
            int edge_bits, IndexStretch& out) {
    out.runs.clear();
    out.count = records.size();
    out.neighbors.resize(records.size());
    if constexpr (Record::kHasEdge) out.edges.resize(records.size());
    if constexpr (Record::kHasWeight) out.weights.resize(records.size());
    if constexpr (Record::kHasTime) out.times.resize(records.size());

    constexpr bool kPlain = !Record::kHasWeight && !Record::kHasTime;
    const int bits = key_bits + neighbor_bits + (Record::kHasEdge ? edge_bits : 0);
    if (kPlain && bits <= 64) {
      sort_packed(records, first_key, key_bits, neighbor_bits, Record::kHasEdge ? edge_bits : 0,
                  out);
    } else if (!Record::kHasTime && key_bits + neighbor_bits <= 64) {
      sort_indexed(records, first_key, key_bits + neighbor_bits, neighbor_bits);
      lay_out(records, out,
              [&](std::size_t i) -> const Record& { return records[indexed_[i].index]; });
    } else {
      std::sort(records.begin(), records.end(),
                [](const Record& a, const Record& b) { return comes_before(a, b); });
      lay_out(records, out, [&](std::size_t i) -> const Record& { return records[i]; });
    }
  }

 private:
  // The whole record is one number: (key, neighbour, edge id).
  void sort_packed(const std::vector<Record>& records, std::uint64_t first_key, int key_bits,
                   int neighbor_bits, int edge_bits, IndexStretch& out) {
    packed_.resize(records.size());
    packed_scratch_.resize(records.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      std::uint64_t value = (records[i].key - first_key) << neighbor_bits | records[i].neighbor;
      if constexpr (Record::kHasEdge) value = value << edge_bits | records[i].edge;
      packed_[i] = value;
    }
    const auto itself = [](std::uint64_t value) { return value; };
    radix_sort(packed_, packed_scratch_, edge_bits, edge_bits + neighbor_bits + key_bits, itself);
    if constexpr (Record::kHasEdge) {
      // Equal neighbours are few, so their edge ids are put in order afterwards, not in more
      // passes.
      for_each_tie(
          records.size(), [&](std::size_t i) { return packed_[i] >> edge_bits; },
          [&](std::size_t begin, std::size_t end) {
            std::sort(packed_.begin() + static_cast<std::ptrdiff_t>(begin),
                      packed_.begin() + static_cast<std::ptrdiff_t>(end));
          });
    }
    const std::uint64_t edge_mask = (std::uint64_t{1} << edge_bits) - 1;
    const std::uint64_t neighbor_mask = (std::uint64_t{1} << neighbor_bits) - 1;
    for (std::size_t i = 0; i < records.size(); ++i) {
      const std::uint64_t rest = packed_[i] >> edge_bits;
      if constexpr (Record::kHasEdge) out.edges[i] = packed_[i] & edge_mask;
      out.neighbors[i] = rest & neighbor_mask;
      count_key((neighbor_bits == 64 ? 0 : rest >> neighbor_bits) + first_key, out);
    }
  }

  struct Indexed {
    std::uint64_t value;
    std::uint32_t index;
  };

  void sort_indexed(const std::vector<Record>& records, std::uint64_t first_key, int bits,
                    int neighbor_bits) {
    indexed_.resize(records.size());
    indexed_scratch_.resize(records.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      indexed_[i] = {(records[i].key - first_key) << neighbor_bits | records[i].neighbor,
                     static_cast<std::uint32_t>(i)};
    }
    radix_sort(indexed_, indexed_scratch_, 0, bits, [](const Indexed& item) { return item.value; });
    if constexpr (Record::kHasEdge) {
      for_each_tie(
          records.size(), [&](std::size_t i) { return indexed_[i].value; },
          [&](std::size_t begin, std::size_t end) {
            std::sort(indexed_.begin() + static_cast<std::ptrdiff_t>(begin),
                      indexed_.begin() + static_cast<std::ptrdiff_t>(end),
                      [&](const Indexed& a, const Indexed& b) {
                        return records[a.index].edge < records[b.index].edge;
                      });
          });
    }
  }

  template <class At>
  void lay_out(const std::vector<Record>& records, IndexStretch& out, At at) {
    for (std::size_t i = 0; i < records.size(); ++i) {
      const Record& record = at(i);
      out.neighbors[i] = record.neighbor;
      if constexpr (Record::kHasEdge) out.edges[i] = record.edge;
      if constexpr (Record::kHasWeight) out.weights[i] = record.weight;
      if constexpr (Record::kHasTime) out.times[i] = record.time;
      count_key(record.key, out);
    }
  }

  static void count_key(std::uint64_t key, IndexStretch& out) {
    if (out.runs.empty() || out.runs.back().key != key) out.runs.push_back({key, 0});
    ++out.runs.back().count;
  }

  template <class Value, class Body>
  static void for_each_tie(std::size_t count, Value value, Body body) {
    for (std::size_t begin = 0; begin + 1 < count;) {
      std::size_t end = begin + 1;
      while (end < count && value(end) == value(begin)) ++end;
      if (end - begin > 1) body(begin, end);
      begin = end;
    }
  }

  std::vector<std::uint64_t> packed_, packed_scratch_;
  std::vector<Indexed> indexed_, indexed_scratch_;
};

}  // namespace gz
