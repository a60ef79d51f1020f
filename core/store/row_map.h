// Where the rows of a .gd that stores them in another order than that of their ids are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/base/file.h"
#include "core/format/gd.h"
#include "core/store/cold_detector.h"

namespace gz {

// Keeps the mapping alive. Places are compared with the number of rows: a bad one throws
// FormatError. Safe to share between threads; use inside guarded(mapping, …).
class RowMap {
 public:
  RowMap(std::shared_ptr<const MappedFile> mapping, const GdRowMap& layout, std::uint64_t num_rows);

  // `id` is below the number of rows.
  std::int64_t place_of(std::int64_t id) const;
  // rows[i] = place_of(ids[i]).
  void translate(std::span<const std::int64_t> ids, std::span<std::int64_t> rows) const;

 private:
  template <class Id>
  void translate_as(std::span<const std::int64_t> ids, std::span<std::int64_t> rows) const;
  template <class Id>
  std::int64_t checked_place(std::int64_t id) const;

  std::shared_ptr<const MappedFile> mapping_;
  const std::byte* places_;
  IdWidth width_;
  std::uint64_t num_rows_;
  mutable ColdDetector cold_detector_;
};

}  // namespace gz
