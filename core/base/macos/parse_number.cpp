#include "core/base/parse_number.h"

#include "core/base/posix/c_number.h"

namespace gz {

std::from_chars_result parse_number(const char* begin, const char* end, float& value) {
  return parse_c_number(begin, end, value);
}

std::from_chars_result parse_number(const char* begin, const char* end, double& value) {
  return parse_c_number(begin, end, value);
}

}  // namespace gz
