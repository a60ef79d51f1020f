#include "core/gather/item_conversion.h"

#include "core/gather/item_loops.h"

namespace gz {
namespace {

template <class Conversion>
void convert(const std::byte* items, std::size_t count, float scale, std::byte* out) {
  convert_each<Conversion>(items, count, scale, out);
}

}  // namespace

ConvertItems portable_conversion(const ItemTypes& types) {
  return with_conversion(types, []<class Conversion>() { return &convert<Conversion>; });
}

}  // namespace gz
