// Sorts the records of one bucket and lays them out as the columns of an index.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/radix_sort.h"
#include "core/convert/edge_record.h"

namespace gz {

// The list of `key`, or a part of it.
struct KeyRun {
  std::uint64_t key;
  std::uint64_t count;
};

// A stretch of an index: `count` entries in order. Vectors keep their memory from bucket to bucket.
template <class Id>
struct IndexStretch {
  std::vector<KeyRun> runs;  // ascending keys, those without entries left out
  std::size_t count = 0;
  std::vector<Id> neighbors;
  std::vector<Id> edges;
  std::vector<float> weights;
  std::vector<std::int64_t> times;
};

template <class Record>
class BucketSorter {
 public:
  using Id = typename Record::Id;
  using Stretch = IndexStretch<Id>;

  // For `count` records that hold keys from `first_key` on, fewer than 2^key_bits of them, and
  // neighbours and edge ids of at most so many bits.
  void begin(std::size_t count, std::uint64_t first_key, int key_bits, int neighbor_bits,
             int edge_bits) {
    first_key_ = first_key;
    key_bits_ = key_bits;
    neighbor_bits_ = neighbor_bits;
    edge_bits_ = Record::kHasEdge ? edge_bits : 0;
    packs_ =
        !Record::kHasWeight && !Record::kHasTime && key_bits_ + neighbor_bits_ + edge_bits_ <= 64;
    count_ = count;
    taken_ = 0;
    if (packs_) {
      packed_.resize(count);
    } else {
      records_.resize(count);
    }
  }

  // Some of the records, in any order.
  void take(std::span<const Record> records) {
    if (packs_) {
      // The whole record is one number: (key, neighbour, edge id).
      std::uint64_t* const packed = packed_.data() + taken_;
      for (std::size_t i = 0; i < records.size(); ++i) {
        std::uint64_t value = (records[i].key - first_key_) << neighbor_bits_ | records[i].neighbor;
        if constexpr (Record::kHasEdge) value = value << edge_bits_ | records[i].edge;
        packed[i] = value;
      }
    } else {
      std::copy(records.begin(), records.end(),
                records_.begin() + static_cast<std::ptrdiff_t>(taken_));
    }
    taken_ += records.size();
  }

  // After all of them.
  void sort(Stretch& out) {
    out.runs.clear();
    out.count = count_;
    out.neighbors.resize(out.count);
    if constexpr (Record::kHasEdge) out.edges.resize(out.count);
    if constexpr (Record::kHasWeight) out.weights.resize(out.count);
    if constexpr (Record::kHasTime) out.times.resize(out.count);

    if (packs_) {
      sort_packed(out);
    } else if (!Record::kHasTime && key_bits_ + neighbor_bits_ <= 64) {
      sort_indexed();
      lay_out(out, [&](std::size_t i) -> const Record& { return records_[indexed_[i].index]; });
    } else {
      std::sort(records_.begin(), records_.end(),
                [](const Record& a, const Record& b) { return comes_before(a, b); });
      lay_out(out, [&](std::size_t i) -> const Record& { return records_[i]; });
    }
  }

 private:
  void sort_packed(Stretch& out) {
    packed_scratch_.resize(packed_.size());
    const auto itself = [](std::uint64_t value) { return value; };
    radix_sort(packed_, packed_scratch_, edge_bits_, edge_bits_ + neighbor_bits_ + key_bits_,
               itself);
    if constexpr (Record::kHasEdge) {
      // Equal neighbours are few, so their edge ids are put in order afterwards, not in more
      // passes.
      for_each_tie(
          packed_.size(), [&](std::size_t i) { return packed_[i] >> edge_bits_; },
          [&](std::size_t begin, std::size_t end) {
            std::sort(packed_.begin() + static_cast<std::ptrdiff_t>(begin),
                      packed_.begin() + static_cast<std::ptrdiff_t>(end));
          });
    }
    const std::uint64_t edge_mask = (std::uint64_t{1} << edge_bits_) - 1;
    const std::uint64_t neighbor_mask = (std::uint64_t{1} << neighbor_bits_) - 1;
    for (std::size_t i = 0; i < packed_.size(); ++i) {
      const std::uint64_t rest = packed_[i] >> edge_bits_;
      if constexpr (Record::kHasEdge) out.edges[i] = static_cast<Id>(packed_[i] & edge_mask);
      out.neighbors[i] = static_cast<Id>(rest & neighbor_mask);
      count_key((neighbor_bits_ == 64 ? 0 : rest >> neighbor_bits_) + first_key_, out);
    }
  }

  struct Indexed {
    std::uint64_t value;
    std::uint32_t index;
  };

  void sort_indexed() {
    indexed_.resize(records_.size());
    indexed_scratch_.resize(records_.size());
    for (std::size_t i = 0; i < records_.size(); ++i) {
      indexed_[i] = {(records_[i].key - first_key_) << neighbor_bits_ | records_[i].neighbor,
                     static_cast<std::uint32_t>(i)};
    }
    radix_sort(indexed_, indexed_scratch_, 0, key_bits_ + neighbor_bits_,
               [](const Indexed& item) { return item.value; });
    if constexpr (Record::kHasEdge) {
      for_each_tie(
          records_.size(), [&](std::size_t i) { return indexed_[i].value; },
          [&](std::size_t begin, std::size_t end) {
            std::sort(indexed_.begin() + static_cast<std::ptrdiff_t>(begin),
                      indexed_.begin() + static_cast<std::ptrdiff_t>(end),
                      [&](const Indexed& a, const Indexed& b) {
                        return records_[a.index].edge < records_[b.index].edge;
                      });
          });
    }
  }

  template <class At>
  void lay_out(Stretch& out, At at) {
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const Record& record = at(i);
      out.neighbors[i] = record.neighbor;
      if constexpr (Record::kHasEdge) out.edges[i] = record.edge;
      if constexpr (Record::kHasWeight) out.weights[i] = record.weight;
      if constexpr (Record::kHasTime) out.times[i] = record.time;
      count_key(record.key, out);
    }
  }

  static void count_key(std::uint64_t key, Stretch& out) {
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

  std::size_t count_ = 0, taken_ = 0;
  std::uint64_t first_key_ = 0;
  int key_bits_ = 0, neighbor_bits_ = 0, edge_bits_ = 0;
  bool packs_ = false;
  std::vector<Record> records_;
  std::vector<std::uint64_t> packed_, packed_scratch_;
  std::vector<Indexed> indexed_, indexed_scratch_;
};

}  // namespace gz
