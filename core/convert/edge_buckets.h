// Edge records grouped by ranges of their key, in memory while a budget lasts, on disk after that.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/object_pool.h"
#include "core/base/temporary_file.h"
#include "core/convert/edge_record.h"

namespace gz {

// Memory for records that all sets of buckets of a conversion share.
struct RecordMemory {
  explicit RecordMemory(std::uint64_t limit_, std::size_t block_bytes_, std::string folder)
      : limit(limit_), block_bytes(block_bytes_), spilled(std::move(folder)) {}

  const std::uint64_t limit;
  const std::size_t block_bytes;
  std::atomic<std::uint64_t> used{0};
  TemporaryFile spilled;
};

// A run of records of one bucket, as it was filled by one thread.
struct RecordBlock {
  std::uint32_t shift = 0;  // its keys are (bucket << shift) … ((bucket + 1) << shift) - 1
  std::uint32_t bucket = 0;
  bool wide = false;
  std::uint32_t count = 0;
  std::unique_ptr<std::byte[]> memory;  // null: in `file`, or else in the temporary file, at
  std::uint64_t offset = 0;
  const File* file = nullptr;    // outlives the block
  std::uint64_t first_edge = 0;  // added to the edge ids of what is in `file`
  std::uint64_t checksum = 0;    // of what is in `file`
};

// One set per index. Keys are not known beforehand, so neither is the range of a bucket: it doubles
// whenever a key comes that is beyond the last bucket, and blocks filled before that carry their
// own.
template <class Narrow>
class EdgeBuckets {
 public:
  using Wide = typename Narrow::Wide;
  static constexpr std::size_t kBuckets = 1024;

  // As many as so many records need: buckets of few cost more to fill and to write than to sort.
  static std::size_t buckets_for(std::uint64_t num_records) {
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(num_records >> 14, 1, kBuckets));
  }

  EdgeBuckets(RecordMemory& memory, std::size_t num_buckets)
      : memory_(memory), num_buckets_(num_buckets) {}

  // Asks for blocks that are on disk before the first of them is read.
  void will_need(const std::vector<RecordBlock>& blocks) const {
    for (const RecordBlock& block : blocks) {
      if (block.memory || block.file != nullptr) continue;
      const std::size_t record = block.wide ? sizeof(Wide) : sizeof(Narrow);
      memory_.spilled.will_need(block.offset, block.count * record);
    }
  }

  // The blocks that one thread is filling. Borrow one, add records, give it back.
  template <class Record>
  struct Filling {
    std::uint32_t shift = 0;
    std::array<Record*, kBuckets> next{};
    std::array<Record*, kBuckets> end{};
    std::array<std::unique_ptr<std::byte[]>, kBuckets> blocks;
  };

  // Calls emit(put) with a put(record) that is safe on this thread until emit returns. All keys are
  // at most `largest_key`.
  template <class Record, class Emit>
  void fill(std::uint64_t largest_key, Emit&& emit) {
    auto filling = pool<Record>().borrow([] { return std::make_unique<Filling<Record>>(); });
    while (largest_key >> filling->shift >= num_buckets_) {
      hand_over(*filling);
      ++filling->shift;
    }
    emit([&](const Record& record) {
      // All 64 bits of it: one bucket for ids of 32 bits has a shift of 32.
      const auto bucket = static_cast<std::size_t>(std::uint64_t{record.key} >> filling->shift);
      Record*& next = filling->next[bucket];
      if (next == filling->end[bucket]) start_block(*filling, bucket);
      *next++ = record;
    });
    pool<Record>().give_back(std::move(filling));
  }

  // No more records will come.
  void close() {
    for (const auto& filling : narrow_.take_all()) hand_over(*filling);
    for (const auto& filling : wide_.take_all()) hand_over(*filling);
  }

  bool has_wide() const { return has_wide_; }

  // After close(): blocks by bucket, all for the one range that covers every key below `num_keys`.
  struct Sorted {
    std::uint32_t shift = 0;
    std::uint64_t first = 0;  // its first bucket has keys from first << shift on
    std::vector<std::vector<RecordBlock>> buckets;

    std::uint64_t num_records() const {
      std::uint64_t total = 0;
      for (const auto& blocks : buckets)
        for (const RecordBlock& block : blocks) total += block.count;
      return total;
    }
  };
  Sorted take(std::uint64_t num_keys) {
    std::uint32_t shift = 0;
    std::uint64_t num_records = 0;
    for (const RecordBlock& block : blocks_) {
      shift = std::max(shift, block.shift);
      num_records += block.count;
    }
    // A known number of nodes may ask for larger ranges than the keys that came.
    const std::size_t most = buckets_for(num_records);
    while (num_keys > 0 && (num_keys - 1) >> shift >= most) ++shift;
    return take_with(num_keys, shift);
  }
  // The same, in buckets as narrow as they were filled.
  Sorted take_as_filled(std::uint64_t num_keys) {
    std::uint32_t shift = 0;
    for (const RecordBlock& block : blocks_) shift = std::max(shift, block.shift);
    return take_with(num_keys, shift);
  }

  // A block's records: where they are, or in `buffer` if they must be read or widened first, until
  // either changes. `Record` is Wide as soon as there is one wide block.
  template <class Record>
  std::span<const Record> view(const RecordBlock& block, std::vector<Record>& buffer) {
    std::span<const Record> records;
    if constexpr (std::is_same_v<Record, Wide>) {
      if (!block.wide) {
        std::vector<Narrow> narrow;
        buffer.clear();
        for (const Narrow& record : stored(block, narrow)) buffer.push_back(record.widened());
        records = buffer;
      }
    }
    if (records.empty()) records = stored(block, buffer);
    if constexpr (Record::kHasEdge) {
      // What is in a file has been read into the buffer.
      if (block.file != nullptr && block.first_edge > 0) {
        for (Record& record : buffer)
          record.edge += static_cast<typename Record::Id>(block.first_edge);
      }
    }
    return records;
  }

  // Frees a block's memory.
  void release(RecordBlock& block) {
    if (!block.memory) return;
    block.memory.reset();
    memory_.used -= memory_.block_bytes;
  }

  // Puts records aside on disk, outside fill(): for buckets that are split.
  template <class Record>
  RecordBlock store(std::span<const Record> records) {
    RecordBlock block;
    block.wide = std::is_same_v<Record, Wide>;
    block.count = static_cast<std::uint32_t>(records.size());
    block.offset = memory_.spilled.append(std::as_bytes(records));
    return block;
  }

 private:
  template <class Record>
  auto& pool() {
    if constexpr (std::is_same_v<Record, Narrow>) {
      return narrow_;
    } else {
      return wide_;
    }
  }

  Sorted take_with(std::uint64_t num_keys, std::uint32_t shift) {
    Sorted sorted;
    sorted.shift = shift;
    sorted.buckets.resize(num_keys == 0 ? 0
                                        : static_cast<std::size_t>((num_keys - 1) >> shift) + 1);
    for (RecordBlock& block : blocks_) {
      const std::uint64_t bucket = std::uint64_t{block.bucket} >> (shift - block.shift);
      sorted.buckets[bucket].push_back(std::move(block));
    }
    blocks_.clear();
    return sorted;
  }

  template <class Record>
  void start_block(Filling<Record>& filling, std::size_t bucket) {
    auto& block = filling.blocks[bucket];
    if (block) finish_block(filling, bucket);
    if (!block) block = std::make_unique_for_overwrite<std::byte[]>(memory_.block_bytes);
    auto* const records = reinterpret_cast<Record*>(block.get());
    filling.next[bucket] = records;
    filling.end[bucket] = records + memory_.block_bytes / sizeof(Record);
  }

  // The block stays in memory if the budget allows; else its bytes go to disk and it is used again.
  template <class Record>
  void finish_block(Filling<Record>& filling, std::size_t bucket) {
    const auto* const records = reinterpret_cast<const Record*>(filling.blocks[bucket].get());
    const auto count = static_cast<std::size_t>(filling.next[bucket] - records);
    if (count == 0) return;
    RecordBlock block;
    block.shift = filling.shift;
    block.bucket = static_cast<std::uint32_t>(bucket);
    block.wide = std::is_same_v<Record, Wide>;
    block.count = static_cast<std::uint32_t>(count);
    const std::uint64_t bytes = memory_.block_bytes;
    if (memory_.used.fetch_add(bytes) + bytes <= memory_.limit) {
      block.memory = std::move(filling.blocks[bucket]);
    } else {
      memory_.used -= bytes;
      block.offset = memory_.spilled.append(std::as_bytes(std::span(records, count)));
    }
    filling.next[bucket] = filling.end[bucket] = nullptr;
    const std::lock_guard lock(mutex_);
    has_wide_ = has_wide_ || block.wide;
    blocks_.push_back(std::move(block));
  }

  template <class Record>
  void hand_over(Filling<Record>& filling) {
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
      if (!filling.blocks[bucket]) continue;
      finish_block(filling, bucket);
      filling.blocks[bucket].reset();
      filling.next[bucket] = filling.end[bucket] = nullptr;
    }
  }

  template <class Record>
  std::span<const Record> stored(const RecordBlock& block, std::vector<Record>& buffer) {
    if (block.memory) return {reinterpret_cast<const Record*>(block.memory.get()), block.count};
    buffer.resize(block.count);
    const auto bytes = std::as_writable_bytes(std::span(buffer));
    if (block.file != nullptr) {
      block.file->read_exact_at(bytes, block.offset);
      if (xxh64(bytes) != block.checksum) {
        throw FormatError(block.file->path(), "the checksum of ", block.count, " records at byte ",
                          block.offset,
                          " differs: it is damaged, remove it and repeat the step that wrote it");
      }
    } else {
      memory_.spilled.read_exact_at(bytes, block.offset);
    }
    return buffer;
  }

  RecordMemory& memory_;
  const std::size_t num_buckets_;
  std::mutex mutex_;
  ObjectPool<Filling<Narrow>> narrow_;
  ObjectPool<Filling<Wide>> wide_;
  std::vector<RecordBlock> blocks_;
  bool has_wide_ = false;
};

}  // namespace gz
