// Items of a row in another type: one function per pair of types, for this processor.
#pragma once

#include <cstddef>

#include "core/base/types.h"

namespace gz {

struct ItemTypes {
  Dtype stored;
  bool quantised = false;  // int8 that count in steps of their row's scale
  Dtype wanted;
};

// `items` and `out` need no alignment and do not overlap. `scale` is for quantised items alone.
using ConvertItems = void (*)(const std::byte* items, std::size_t count, float scale,
                              std::byte* out);

// For any processor. Null for a pair that is not converted.
ConvertItems portable_conversion(const ItemTypes& types);

// With instructions that not every processor of its kind has; the same bits. Null also if this one
// has none.
ConvertItems processor_conversion(const ItemTypes& types);

}  // namespace gz
