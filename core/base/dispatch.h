// The only switch from a stored id width to a C++ type; below it all code is plainly typed.
#pragma once

#include <cstdint>

#include "core/base/types.h"

namespace gz {

// Calls `body.operator()<Id>()` with the type stored ids of this width have.
template <class Body>
decltype(auto) with_id_type(IdWidth width, Body&& body) {
  if (width == IdWidth::k4) return body.template operator()<std::int32_t>();
  return body.template operator()<std::int64_t>();
}

}  // namespace gz
