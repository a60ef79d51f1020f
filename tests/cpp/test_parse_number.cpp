#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/parse_number.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

template <class Number>
struct Parsed {
  Number value;
  std::size_t length;
  std::errc error;
};

template <class Number>
Parsed<Number> parsed(std::string_view text) {
  Parsed<Number> result = {7, 0, {}};
  const auto [end, error] = parse_number(text.data(), text.data() + text.size(), result.value);
  result.length = static_cast<std::size_t>(end - text.data());
  result.error = error;
  return result;
}

template <class Number>
bool is(std::string_view text, Number value, std::size_t length) {
  const Parsed<Number> result = parsed<Number>(text);
  return result.error == std::errc{} && result.value == value && result.length == length;
}

bool is_below(std::string_view text) {
  return is_below_one(text.data(), text.data() + text.size());
}

TEST(numbers_are_parsed_up_to_what_is_none) {
  EXPECT(is<std::int64_t>("-12,3", -12, 3));
  EXPECT(is<double>("-1.25e2,3", -125, 7));
  EXPECT(is<float>(".5\t", 0.5f, 2));
  EXPECT(is<double>("3.", 3, 2));
  EXPECT(is<double>("1e", 1, 1));
  EXPECT(is<double>("0x10", 0, 1));
  EXPECT(is<double>("0.1", 0.1, 3));
  EXPECT(is<float>("16777217", 16777216.0f, 8));
  EXPECT(is<double>("5e-324", 0x1p-1074, 6));
  EXPECT(is<float>("1e-45", 0x1p-149f, 5));
}

TEST(what_is_no_number_is_told_from_what_is_out_of_range) {
  for (const char* const text : {"", " 1", "+1", "-", ".", "e5", "abc"}) {
    EXPECT(parsed<double>(text).error == std::errc::invalid_argument);
    EXPECT(parsed<double>(text).length == 0);
    EXPECT(parsed<float>(text).error == std::errc::invalid_argument);
  }
  for (const char* const text : {"1e400", "-1e400", "1e-400", "-1e-400"}) {
    EXPECT(parsed<double>(text).error == std::errc::result_out_of_range);
    EXPECT(parsed<double>(text).length == std::string_view(text).size());
    EXPECT(parsed<float>(text).error == std::errc::result_out_of_range);
  }
  EXPECT(parsed<float>("1e39").error == std::errc::result_out_of_range);
  EXPECT(parsed<float>("1e-46").error == std::errc::result_out_of_range);
}

TEST(too_small_is_told_from_too_large) {
  const std::string zeros(500, '0');
  for (const std::string& text :
       {std::string("1e-400"), std::string("-1e-400"), std::string("12.5E-400"), "0." + zeros + "1",
        "-." + zeros + "1", "0." + zeros + "1e+100", "1" + zeros + "e-900", zeros + "1e-400",
        std::string("1e-99999999999999999999"), "1e-" + zeros + "400", "0." + zeros + "1e500",
        std::string("0.999"), std::string("0.1e0"), std::string("0"), std::string("-0.00e5")}) {
    EXPECT(is_below(text));
  }
  for (const std::string& text :
       {std::string("1e400"), std::string("-1e+400"), std::string(".125E400"), "1" + zeros,
        "-1" + zeros + ".5", "1" + zeros + "e-100", "0." + zeros + "1e900", zeros + "1e400",
        std::string("1e99999999999999999999"), "1e" + zeros + "400", "0." + zeros + "1e501",
        std::string("1"), std::string("1."), std::string("0.1e1"), std::string("10e-1")}) {
    EXPECT(!is_below(text));
  }
}

}  // namespace
}  // namespace gz
