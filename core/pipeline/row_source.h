// The rows of one attribute, wherever they are: in the cache, in the page cache, or on their way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/base/recycled_vector.h"
#include "core/base/types.h"
#include "core/gather/mmap_reader.h"
#include "core/gather/read_cost.h"
#include "core/gather/reader_choice.h"
#include "core/gather/row_cache.h"
#include "core/gather/row_copy.h"
#include "core/gather/sweep.h"
#include "core/pipeline/batch.h"
#include "core/store/features.h"

namespace gz {

// Rows of a batch that are neither mapped nor cached.
struct Misses {
  RecycledVector<std::uint32_t> places;  // in the batch, by index in the request
  std::shared_ptr<RowRequest> request;
};

// Ids are a user's, rows those of the file. Once choices are made safe on many threads.
class RowSource {
 public:
  RowSource(const Attribute& attribute, ReaderKind reader);

  const Features& features() const { return *features_; }
  const RowLayout& layout() const { return layout_; }
  const RowCopy& copy() const { return copy_; }
  const ReaderChoice& choice() const { return chosen_.choice; }
  bool is_mapped() const { return chosen_.file == nullptr; }
  std::uint64_t data_bytes() const { return layout_.num_rows * layout_.row_bytes; }

  const RowCache* cache() const { return cache_.get(); }
  void set_cache(std::unique_ptr<RowCache> cache) { cache_ = std::move(cache); }
  // In a forked child, whose parent may have held its lock.
  void leave_cache() { static_cast<void>(cache_.release()); }

  // Rows that need not be handed out; the others are host rows.
  const RowSet& on_device() const { return on_device_; }
  void set_on_device(RowSet rows) { on_device_ = std::move(rows); }
  std::uint64_t host_data_bytes() const {
    return (layout_.num_rows - on_device_.count()) * layout_.row_bytes;
  }

  // Has a mapped file that fits brought to the page cache, and the scales of any.
  void preload();

  // Rows that stay are read in parts, by threads that have nothing else to do.
  RowCache* cache_to_fill() const {
    return cache_ && !cache_->is_filled() ? cache_.get() : nullptr;
  }
  void fill_cache(std::size_t part) { cache_->fill(*chosen_.reader, part); }

  // What reads cost the device. Not for mapped files.
  ReadCost read_cost() const;

  // What the sweep needs to know. Not for mapped files.
  Sweep::Source for_sweep() const;

  // Where the rows of `ids` are in the file.
  void translate(std::span<const std::int64_t> ids, std::span<std::int64_t> rows) const;

  // The host rows among `rows`; where all of them are goes to `index`.
  RecycledVector<std::int64_t> host_rows(std::span<const std::int64_t> rows,
                                         DeviceRowIndex& index) const;

  // Those of `rows` that have to be read, and their places among `rows`.
  struct MissedRows {
    RecycledVector<std::int64_t> rows;
    RecycledVector<std::uint32_t> places;
  };
  MissedRows find_misses(std::span<const std::int64_t> rows) const;

  // Copies what is mapped or cached of `rows` to `out`, which has room for all.
  void copy_rows(std::span<const std::int64_t> rows, std::byte* out);

  // Copies a section of what was missed to its places in `out`, where all rows of the batch go, and
  // gives back its memory. Returns what had to be read now.
  GatherCounts copy_missed(const Misses& misses, RowRequest::Part part, std::byte* out);

 private:
  std::span<const float> scales_of(std::span<const std::int64_t> rows, std::span<float> to);
  void copy_cached(std::span<const std::int64_t> rows, std::byte* out);

  const Features* features_;
  RowLayout layout_;
  RowCopy copy_;
  ChosenReader chosen_;
  std::optional<MmapReader> scales_;  // rows of one float; none if they are not needed
  std::unique_ptr<RowCache> cache_;
  RowSet on_device_;
};

}  // namespace gz
