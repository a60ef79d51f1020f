// Rows of mounted features, by the reader that suits the file and the machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "core/base/file.h"
#include "core/gather/row_reader.h"
#include "core/store/features.h"
#include "core/store/row_map.h"

namespace gz {

enum class ReaderKind : std::uint8_t { kAuto, kMmap, kDirect, kPread };

struct ReaderChoice {
  ReaderKind kind = ReaderKind::kAuto;  // never kAuto once chosen
  std::string reason;                   // "x.gd: direct: 20.1 GB, 3.9 GB available"
};

// What kAuto means for a file of `size` bytes: a mapping if it is mostly in the page cache or fits
// there with as much again to spare, else the device.
ReaderKind reader_for(std::uint64_t size, std::optional<std::uint64_t> resident,
                      std::uint64_t available);

// Safe to share between threads.
class Gatherer {
 public:
  // Keeps the mapping alive, not `features`.
  explicit Gatherer(const Features& features);

  std::uint64_t row_bytes() const { return layout_.row_bytes; }

  // Copies row ids[i] to out + i * row_bytes(). kAuto is decided by its first call. A reader that
  // this system does not have is replaced by the next best; choice() tells. Throws
  // std::out_of_range for an id that is no row, std::invalid_argument if `out` has not the size of
  // the result, FormatError for a corrupt row map, IoError.
  void gather(std::span<const std::int64_t> ids, std::span<std::byte> out, ReaderKind wanted);

  // Of the last call.
  ReaderChoice choice() const;
  // Of all calls that succeeded.
  GatherCounts counts() const;

  // Bytes of the result for `count` ids. Throws MemoryShortage if there is no room for so much.
  std::size_t result_bytes(std::size_t count) const;

 private:
  struct Made {
    std::shared_ptr<RowReader> reader;
    ReaderChoice choice;
  };

  Made make(ReaderKind wanted) const;
  Made reader(ReaderKind wanted);
  void check(std::span<const std::int64_t> ids) const;

  std::shared_ptr<const MappedFile> mapping_;
  std::shared_ptr<const RowMap> row_map_;  // null: rows are stored in order of their ids
  RowLayout layout_;
  mutable std::mutex mutex_;
  std::array<Made, 4> made_;  // by what was wanted
  ReaderChoice choice_;
  GatherCounts counts_;
};

}  // namespace gz
