// Numbers in text, by the rules of std::from_chars, whatever the locale.
#pragma once

#include <charconv>
#include <concepts>

namespace gz {

// As std::from_chars, which the C++ library of macOS has for integers alone: the core calls these
// instead. What `value` is after an error differs between libraries. One implementation of the last
// two per system.
template <std::integral Integer>
std::from_chars_result parse_number(const char* begin, const char* end, Integer& value) {
  return std::from_chars(begin, end, value);
}
std::from_chars_result parse_number(const char* begin, const char* end, float& value);
std::from_chars_result parse_number(const char* begin, const char* end, double& value);

// Whether the number from `begin` to `end` lies between -1 and 1: what parse_number() found out of
// range is too small then, and too large otherwise.
bool is_below_one(const char* begin, const char* end);

}  // namespace gz
