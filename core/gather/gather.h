// Rows of mounted features, by the reader that suits the file and the machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "core/base/file.h"
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

  // Of the last call.
  ReaderChoice choice() const;
  // Of all calls that succeeded.
  GatherCounts counts() const;

  // Bytes of the result. Throws MemoryShortage if that does not fit, and what gather()
  // throws about `ids` and `dtype`: a file of no rows may claim any width, and is not allocated
  // for.
  std::size_t result_bytes(std::span<const std::int64_t> ids,
                           std::optional<Dtype> dtype = {}) const;

 private:
  ChosenReader reader(ReaderKind wanted);
  RowCopy row_copy(std::optional<Dtype> dtype) const;
  void check(std::span<const std::int64_t> ids) const;

  std::shared_ptr<const MappedFile> mapping_;
  std::shared_ptr<const RowMap> row_map_;  // null: rows are stored in order of their ids
  RowLayout layout_;
  Dtype stored_;
  std::optional<MmapReader> scales_;  // rows of one float; none if the file is not quantised
  mutable std::mutex mutex_;
  std::array<ChosenReader, 4> made_;  // by what was wanted
  ReaderChoice choice_;
  GatherCounts counts_;
};

}  // namespace gz
