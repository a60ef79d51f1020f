// Rows from wherever they are to one block of memory, in the type they are computed with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/base/types.h"
#include "core/gather/item_conversion.h"

namespace gz {

class RowCopy {
 public:
  // Without `wanted` items stay as they are stored, quantised ones too. Throws
  // std::invalid_argument for a type that these items are not converted to.
  RowCopy(Dtype stored, bool quantised, std::uint64_t items_per_row, std::optional<Dtype> wanted);

  std::uint64_t stored_bytes() const { return items_ * item_size(stored_); }  // of a row
  std::uint64_t out_bytes() const { return items_ * item_size(out_); }
  bool converts() const { return convert_ != nullptr; }
  bool needs_scales() const { return quantised_ && converts(); }

  // Row i lies at rows[i], counts in steps of scales[i] and goes to out + i * out_bytes(). Rows
  // need no alignment and do not overlap `out`. `scales` is empty unless needs_scales().
  void copy(std::span<const std::byte* const> rows, std::span<const float> scales,
            std::byte* out) const;

  // The same for rows that lie at data + rows[i] * stored_bytes().
  void copy(const std::byte* data, std::span<const std::int64_t> rows,
            std::span<const float> scales, std::byte* out) const;

 private:
  template <class Places>
  void copy_from(Places places, std::span<const float> scales, std::byte* out) const;

  Dtype stored_;
  bool quantised_;
  std::uint64_t items_;
  Dtype out_;
  ConvertItems convert_ = nullptr;  // null where the bytes are copied
};

}  // namespace gz
