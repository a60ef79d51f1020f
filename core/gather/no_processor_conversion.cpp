#include "core/gather/item_conversion.h"

namespace gz {

ConvertItems processor_conversion(const ItemTypes&) { return nullptr; }

}  // namespace gz
