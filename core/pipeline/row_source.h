// The rows of one attribute, wherever they are: in the cache, in a slot, in the page cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/base/recycled_vector.h"
#include "core/base/types.h"
#include "core/gather/mmap_reader.h"
#include "core/gather/reader_choice.h"
#include "core/gather/row_cache.h"
#include "core/gather/row_copy.h"
#include "core/gather/sweep.h"
#include "core/pipeline/batch.h"
#include "core/store/features.h"

namespace gz {

// Rows of a batch that are neither mapped nor cached.
struct Misses {
  RecycledVector<std::uint32_t> places;  // in the batch, rising
  RecycledVector<Sweep::Slot> slots;     // beside them
};

// Ids are a user's, rows those of the file. After prepare() safe on many threads.
class RowSource {
 public:
  RowSource(const Features& features, std::optional<Dtype> wanted, ReaderKind reader);

  const Features& features() const { return *features_; }
  const RowLayout& layout() const { return layout_; }
  const RowCopy& copy() const { return copy_; }
  const ReaderChoice& choice() const { return chosen_.choice; }
  bool is_mapped() const { return chosen_.file == nullptr; }
  std::uint64_t data_bytes() const { return layout_.num_rows * layout_.row_bytes; }

  const RowCache* cache() const { return cache_.get(); }
  void set_cache(std::unique_ptr<RowCache> cache) { cache_ = std::move(cache); }

  // Rows that need not be handed out; the others are host rows.
  const RowSet& on_device() const { return on_device_; }
  void set_on_device(RowSet rows) { on_device_ = std::move(rows); }
  std::uint64_t host_data_bytes() const {
    return (layout_.num_rows - on_device_.count()) * layout_.row_bytes;
  }

  // Reads what is to be in memory before the first batch: the cache, or a mapped file that fits.
  void prepare();

  // What the sweep needs to know; `slots` is for the caller to set. Not for mapped files.
  Sweep::Source for_sweep() const;

  // Where the rows of `ids` are in the file.
  void translate(std::span<const std::int64_t> ids, std::span<std::int64_t> rows) const;

  // The host rows among `rows`; where all of them are goes to `index`.
  RecycledVector<std::int64_t> host_rows(std::span<const std::int64_t> rows,
                                         DeviceRowIndex& index) const;

  // Those of `rows` that have to be read: their places go to `misses`, they themselves are
  // returned.
  RecycledVector<std::int64_t> find_misses(std::span<const std::int64_t> rows,
                                           Misses& misses) const;

  // Copies `rows`, which are those from place `first` of a batch on, to `out`. The slots of
  // `misses` are those of `source` in `sweep`, and there.
  void copy_rows(std::span<const std::int64_t> rows, std::size_t first, const Misses& misses,
                 const Sweep* sweep, std::size_t source, std::byte* out);

 private:
  void copy_found(std::span<const std::int64_t> rows, std::span<const float> scales,
                  std::size_t first, const Misses& misses, const Sweep* sweep, std::size_t source,
                  std::byte* out);

  const Features* features_;
  RowLayout layout_;
  RowCopy copy_;
  ChosenReader chosen_;
  std::optional<MmapReader> scales_;  // rows of one float; none if they are not needed
  std::unique_ptr<RowCache> cache_;
  RowSet on_device_;
};

}  // namespace gz
