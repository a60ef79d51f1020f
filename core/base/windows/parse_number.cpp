#include "core/base/parse_number.h"

namespace gz {

std::from_chars_result parse_number(const char* begin, const char* end, float& value) {
  return std::from_chars(begin, end, value);
}

std::from_chars_result parse_number(const char* begin, const char* end, double& value) {
  return std::from_chars(begin, end, value);
}

}  // namespace gz
