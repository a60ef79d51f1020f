// Brings one bucket, of any size, into an index.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/object_pool.h"
#include "core/base/parallel.h"
#include "core/convert/bucket_sorter.h"
#include "core/convert/edge_buckets.h"
#include "core/convert/index_output.h"
#include "core/convert/stretch_order.h"

namespace gz {

struct BucketWriterOptions {
  std::uint64_t sort_bytes = 0;    // a bucket that needs more than this is split
  std::uint64_t block_bytes = 0;   // what is written to disk at a time when it is
  std::uint64_t parked_bytes = 0;  // sorted, but not yet due
  int neighbor_bits = 0;           // that hold every neighbour
  int edge_bits = 0;               // and every edge id
};

// One per thread; keeps its memory from bucket to bucket. Sorting runs beside that of other
// buckets, and writing is in the order of the buckets.
template <class Narrow, class Record>
class BucketWriter {
 public:
  // `done` counts the entries that have been written.
  BucketWriter(EdgeBuckets<Narrow>& buckets, IndexOutput& output, StretchOrder& order,
               const BucketWriterOptions& options, std::atomic<std::uint64_t>& done)
      : buckets_(buckets), output_(output), order_(order), options_(options), done_(done) {
    const std::uint64_t bytes = 2 * sizeof(Record) + 64;  // record, sort keys twice, columns
    most_records_ = std::max<std::uint64_t>(options.sort_bytes / bytes, 1 << 12);
  }

  // Buckets are numbered from 0 on, whatever their keys are.
  void write(std::size_t bucket, std::uint64_t first_key, std::uint32_t shift,
             std::vector<RecordBlock> blocks) {
    if (count(blocks) <= most_records_) {
      sort(blocks, first_key, static_cast<int>(shift));
      const std::uint64_t count = packed_.count;
      order_.add(bucket, packed_);
      done_ += count;
    } else {
      order_.begin(bucket);
      split(std::move(blocks), 0, first_key, static_cast<int>(shift));
      order_.end();
    }
  }

 private:
  static std::uint64_t count(const std::vector<RecordBlock>& blocks) {
    std::uint64_t total = 0;
    for (const RecordBlock& block : blocks) total += block.count;
    return total;
  }

  void sort(std::vector<RecordBlock>& blocks, std::uint64_t first_key, int key_bits) {
    sorter_.begin(count(blocks), first_key, key_bits, options_.neighbor_bits, options_.edge_bits);
    buckets_.will_need(blocks);
    for (RecordBlock& block : blocks) {
      sorter_.take(buckets_.template view<Record>(block, block_));
      buckets_.release(block);
    }
    sorter_.sort(stretch_);
    output_.pack(stretch_, packed_);
  }

  void add() {
    output_.add(packed_);
    done_ += packed_.count;
  }

  // What records are ordered by, first things first. Empty when there is nothing left to tell
  // apart.
  static std::optional<std::uint64_t> order_value(const Record& record, int level) {
    if (level == 0) return record.key;
    if constexpr (Record::kHasTime) {
      if (level == 1) return static_cast<std::uint64_t>(record.time) ^ (std::uint64_t{1} << 63);
      --level;
    }
    if (level == 1) return record.neighbor;
    if constexpr (Record::kHasEdge) {
      if (level == 2) return record.edge;
    }
    return std::nullopt;
  }

  template <class Body>
  void for_each_block(std::vector<RecordBlock>& blocks, bool keep, Body body) {
    for (RecordBlock& block : blocks) {
      body(buckets_.template view<Record>(block, block_));
      if (!keep) buckets_.release(block);
    }
  }

  // More records than can be sorted at once: cut their range in up to 256 parts, lower values
  // first, on the first thing in which they differ. A hub with half of all edges ends up here.
  void split(std::vector<RecordBlock> blocks, int level, std::uint64_t first_key, int key_bits) {
    check_interrupt();
    if (count(blocks) <= most_records_) {
      sort(blocks, first_key, key_bits);
      add();
      return;
    }
    std::uint64_t low = ~std::uint64_t{0}, high = 0;
    bool exhausted = false;
    for_each_block(blocks, true, [&](std::span<const Record> records) {
      for (const Record& record : records) {
        const auto value = order_value(record, level);
        exhausted = !value;
        low = std::min(low, value.value_or(0));
        high = std::max(high, value.value_or(0));
      }
    });
    if (exhausted) {
      // All alike: any cut will do.
      for (RecordBlock& block : blocks) {
        std::vector<RecordBlock> one;
        one.push_back(std::move(block));
        sort(one, first_key, key_bits);
        add();
      }
      return;
    }
    if (low == high) {
      split(std::move(blocks), level + 1, first_key, key_bits);
      return;
    }
    constexpr std::size_t kParts = 256;
    const int shift = std::max(0, bits_below(high - low + 1) - bits_below(kParts));
    const std::size_t part_records =
        std::max<std::size_t>(options_.block_bytes / sizeof(Record), 1);
    std::vector<std::vector<Record>> filling(kParts);
    std::vector<std::vector<RecordBlock>> parts(kParts);
    for_each_block(blocks, false, [&](std::span<const Record> records) {
      for (const Record& record : records) {
        const auto part = static_cast<std::size_t>((*order_value(record, level) - low) >> shift);
        filling[part].push_back(record);
        if (filling[part].size() == part_records) {
          parts[part].push_back(buckets_.template store<Record>(filling[part]));
          filling[part].clear();
        }
      }
    });
    blocks.clear();
    for (std::size_t part = 0; part < kParts; ++part) {
      if (!filling[part].empty())
        parts[part].push_back(buckets_.template store<Record>(filling[part]));
      std::vector<Record>().swap(filling[part]);
    }
    for (auto& part : parts) {
      if (!part.empty()) split(std::move(part), level, first_key, key_bits);
    }
  }

  EdgeBuckets<Narrow>& buckets_;
  IndexOutput& output_;
  StretchOrder& order_;
  BucketWriterOptions options_;
  std::atomic<std::uint64_t>& done_;
  std::uint64_t most_records_;
  std::vector<Record> block_;  // that was on disk
  BucketSorter<Record> sorter_;
  typename BucketSorter<Record>::Stretch stretch_;
  PackedStretch packed_;
};

// Sorts all buckets, side by side, into an index. `done` counts the entries that have been written.
template <class Record, class Narrow>
void write_buckets(EdgeBuckets<Narrow>& buckets, typename EdgeBuckets<Narrow>::Sorted sorted,
                   IndexOutput& output, const BucketWriterOptions& options,
                   std::atomic<std::uint64_t>& done) {
  StretchOrder order(output, options.parked_bytes);
  using Writer = BucketWriter<Narrow, Record>;
  ObjectPool<Writer> writers;  // with their memory, from bucket to bucket
  parallel_chunks(sorted.buckets.size(), 1, [&](std::size_t bucket, std::size_t) {
    auto writer = writers.borrow(
        [&] { return std::make_unique<Writer>(buckets, output, order, options, done); });
    try {
      const std::uint64_t first_key = (sorted.first + bucket) << sorted.shift;
      writer->write(bucket, first_key, sorted.shift, std::move(sorted.buckets[bucket]));
    } catch (...) {
      order.fail(std::current_exception());
      throw;
    }
    writers.give_back(std::move(writer));
  });
}

}  // namespace gz
