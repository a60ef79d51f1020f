// Rows of mounted features, by the reader that suits the file and the machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "core/base/buffer.h"
#include "core/base/file.h"
#include "core/base/recycled_memory.h"
#include "core/base/types.h"
#include "core/gather/mmap_reader.h"
#include "core/gather/reader_choice.h"
#include "core/gather/row_copy.h"
#include "core/gather/row_reader.h"
#include "core/store/features.h"
#include "core/store/row_map.h"

namespace gz {

// Safe to share between threads.
class Gatherer {
 public:
  // Keeps the mapping alive, not `features`.
  explicit Gatherer(const Features& features);

  std::uint64_t row_bytes() const { return layout_.row_bytes; }

  // Copies row ids[i] to the i-th place of `out`, as `dtype` or as it is stored. kAuto is decided
  // by its first call. A reader that this system does not have is replaced by the next best;
  // choice() tells. Throws std::out_of_range for an id that is no row, std::invalid_argument if
  // `out` has not the size of the result or rows are not converted to `dtype`, FormatError
  // for a corrupt row map, IoError.
  void gather(std::span<const std::int64_t> ids, std::span<std::byte> out, ReaderKind wanted,
              std::optional<Dtype> dtype = {});

  // The same into fresh memory. When that is given back, it waits for the next call, up to
  // kLargestKept bytes of it. Throws MemoryShortage if it does not fit: a file of no rows may claim
  // any width, and is not allocated for.
  Buffer<std::uint8_t> gather(std::span<const std::int64_t> ids, ReaderKind wanted,
                              std::optional<Dtype> dtype = {});

  // Of the last call.
  ReaderChoice choice() const;
  // Of all calls that succeeded.
  GatherCounts counts() const;

 private:
  ChosenReader reader(ReaderKind wanted);
  RowCopy row_copy(std::optional<Dtype> dtype) const;
  void check(std::span<const std::int64_t> ids) const;
  std::size_t result_bytes(std::size_t count, const RowCopy& copy) const;
  void gather_checked(std::span<const std::int64_t> ids, std::byte* out, ReaderKind wanted,
                      const RowCopy& copy);

  std::shared_ptr<const MappedFile> mapping_;
  std::shared_ptr<const RowMap> row_map_;  // null: rows are stored in order of their ids
  RowLayout layout_;
  Dtype stored_;
  std::optional<MmapReader> scales_;  // rows of one float; none if the file is not quantised
  mutable std::mutex mutex_;
  std::array<ChosenReader, 4> made_;  // by what was wanted
  ReaderChoice choice_;
  GatherCounts counts_;
  IdleRoom idle_room_;
};

}  // namespace gz
