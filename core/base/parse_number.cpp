#include "core/base/parse_number.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace gz {

bool is_below_one(const char* begin, const char* end) {
  std::string_view digits(begin, static_cast<std::size_t>(end - begin));
  if (digits.starts_with('-')) digits.remove_prefix(1);
  std::string_view exponent;
  if (const std::size_t mark = digits.find_first_of("eE"); mark != digits.npos) {
    exponent = digits.substr(mark + 1);
    digits = digits.substr(0, mark);
  }
  const std::size_t first = digits.find_first_of("123456789");
  if (first == digits.npos) return true;
  // How many places the first digit that counts is before the point; 0 is right behind it.
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
  const auto at = static_cast<std::int64_t>(first);
  const std::int64_t places = at < point ? point - at : point - at + 1;

  const bool is_negative = exponent.starts_with('-');
  if (is_negative || exponent.starts_with('+')) exponent.remove_prefix(1);
  std::int64_t power = 0;
  const auto [stop, error] =
      parse_number(exponent.data(), exponent.data() + exponent.size(), power);
  // No text has as many digits as such an exponent moves the point.
  if (error == std::errc::result_out_of_range) return is_negative;
  return places <= (is_negative ? power : -power);
}

}  // namespace gz
