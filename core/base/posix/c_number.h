// Real numbers by the rules of std::from_chars, parsed by the C library in its own locale: for C++
// libraries that do not parse them. Linux compiles it for the test alone.
#pragma once

#include <locale.h>
#include <stdlib.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#include <charconv>
#include <cmath>
#include <limits>
#include <new>
#include <string>
#include <string_view>

namespace gz {

// The one whose decimal point is a point, whatever the user's is.
inline locale_t c_locale() {
  static const locale_t locale = ::newlocale(LC_ALL_MASK, "C", nullptr);
  if (locale == nullptr) throw std::bad_alloc();
  return locale;
}

// All of [begin, end) is digits with at most a sign, a point and an exponent. strtod would go on
// behind `end`, up to a NUL, so it gets a copy.
template <class Real>
Real c_number(const char* begin, const char* end) {
  const std::string text(begin, end);
  if constexpr (sizeof(Real) == 4) {
    return ::strtof_l(text.c_str(), nullptr, c_locale());
  } else {
    return ::strtod_l(text.c_str(), nullptr, c_locale());
  }
}

inline bool is_c_digit(char c) { return c >= '0' && c <= '9'; }

// In small letters or capitals; `word` is in small letters.
inline bool begins_with(const char* p, const char* end, std::string_view word) {
  if (static_cast<std::size_t>(end - p) < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if ((p[i] | 0x20) != word[i]) return false;
  }
  return true;
}

// Behind "nan" there may be letters, digits and underscores in parentheses, which say nothing here.
inline const char* end_of_nan(const char* p, const char* end) {
  const char* const plain = p + 3;
  if (plain == end || *plain != '(') return plain;
  const auto is_inside = [](char c) {
    return is_c_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
  };
  const char* q = plain + 1;
  while (q < end && is_inside(*q)) ++q;
  return q < end && *q == ')' ? q + 1 : plain;
}

// Goes by the text alone, not by strtod, which also takes blanks, a plus sign and hexadecimal
// digits, and calls some numbers out of range that are less than normal, but not zero.
template <class Real>
std::from_chars_result parse_c_number(const char* begin, const char* end, Real& value) {
  const char* p = begin;
  if (p < end && *p == '-') ++p;
  const Real sign = p == begin ? Real{1} : Real{-1};
  if (begins_with(p, end, "inf")) {
    value = sign * std::numeric_limits<Real>::infinity();
    return {p + (begins_with(p, end, "infinity") ? 8 : 3), std::errc{}};
  }
  if (begins_with(p, end, "nan")) {
    value = std::copysign(std::numeric_limits<Real>::quiet_NaN(), sign);
    return {end_of_nan(p, end), std::errc{}};
  }

  bool has_digits = false;
  bool is_zero = true;
  const auto skip_digits = [&] {
    for (; p < end && is_c_digit(*p); ++p) {
      has_digits = true;
      is_zero = is_zero && *p == '0';
    }
  };
  skip_digits();
  if (p < end && *p == '.') {
    ++p;
    skip_digits();
  }
  if (!has_digits) return {begin, std::errc::invalid_argument};
  if (p < end && (*p == 'e' || *p == 'E')) {
    const char* q = p + 1;
    if (q < end && (*q == '+' || *q == '-')) ++q;
    // Without digits the letter belongs to what comes behind the number.
    if (q < end && is_c_digit(*q)) {
      while (q < end && is_c_digit(*q)) ++q;
      p = q;
    }
  }

  const auto rounded = c_number<Real>(begin, p);
  if (std::isinf(rounded) || (rounded == 0 && !is_zero)) return {p, std::errc::result_out_of_range};
  value = rounded;
  return {p, std::errc{}};
}

}  // namespace gz
