// Rows from wherever they are to where they are used, in the type they are computed with.
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
  // Of quantised rows: the stored items, and behind those of each row the float that is its scale.
  static RowCopy with_scales(std::uint64_t items_per_row);

  std::uint64_t stored_bytes() const { return items_ * item_size(stored_); }  // of a row
  std::uint64_t out_bytes() const {
    return items_ * item_size(out_) + (adds_scales_ ? sizeof(float) : 0);
  }
  bool converts() const { return convert_ != nullptr; }
  bool needs_scales() const { return adds_scales_ || (quantised_ && converts()); }

  // Row i lies at rows[i], counts in steps of scales[i] and goes to out + i * out_bytes(). Rows
  // need no alignment and do not overlap `out`. `scales` is empty unless needs_scales().
  void copy(std::span<const std::byte* const> rows, std::span<const float> scales,
            std::byte* out) const;

  // The same, but row i goes to outs[i].
  void copy(std::span<const std::byte* const> rows, std::span<const float> scales,
            std::span<std::byte* const> outs) const;

  // Rows that lie at data + rows[i] * stored_bytes(), to one block as well.
  void copy(const std::byte* data, std::span<const std::int64_t> rows,
            std::span<const float> scales, std::byte* out) const;

 private:
  template <class Places, class Outs>
  void copy_all(Places places, std::span<const float> scales, Outs outs) const;

  Dtype stored_;
  bool quantised_;
  std::uint64_t items_;
  Dtype out_;
  ConvertItems convert_ = nullptr;  // null where the bytes are copied
  bool adds_scales_ = false;
};

}  // namespace gz
