// What macOS has in the place of std::from_chars, compared with what this system has.
#include <array>
#include <bit>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/parse_number.h"
#include "core/base/posix/c_number.h"
#include "core/base/random.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

std::uint64_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }

// What is behind the text, up to which a parser must not look, would be part of the number.
template <class Real>
bool agrees(std::string_view text) {
  const std::string longer = std::string(text) + "1e1";
  const char* const begin = longer.data();
  const char* const end = begin + text.size();
  Real expected = 7, found = 7;
  const auto [expected_end, expected_error] = parse_number(begin, end, expected);
  const auto [found_end, found_error] = parse_c_number(begin, end, found);
  const bool same = found_end == expected_end && found_error == expected_error &&
                    (expected_error != std::errc{} || bits_of(found) == bits_of(expected));
  if (!same) std::cerr << "differs for '" << text << "'\n";
  return same;
}

bool both_agree(std::string_view text) { return agrees<float>(text) && agrees<double>(text); }

std::string digits_of(Rng& rng, std::size_t count) {
  std::string digits;
  for (std::size_t i = 0; i < count; ++i) digits += static_cast<char>('0' + rng.below(10));
  return digits;
}

TEST(odd_numbers_are_what_from_chars_says) {
  for (const char* const text : {"",
                                 "-",
                                 ".",
                                 "-.",
                                 "e",
                                 ".e1",
                                 "-e1",
                                 "0",
                                 "-0",
                                 "00",
                                 "1.",
                                 ".5",
                                 "-.5",
                                 "1.e5",
                                 "1e",
                                 "1e+",
                                 "1e-",
                                 "1e+5",
                                 "1E5",
                                 "1e05",
                                 "1e5.5",
                                 " 1",
                                 "\t1",
                                 "+1",
                                 "-+1",
                                 "--1",
                                 "- 1",
                                 "1 ",
                                 "0x1",
                                 "0x1p3",
                                 "-0x.8",
                                 "1x",
                                 "1,5",
                                 "1_0",
                                 "1f",
                                 "inf",
                                 "-inf",
                                 "+inf",
                                 "INF",
                                 "iNfInItY",
                                 "infinit",
                                 "infx",
                                 "i",
                                 "in",
                                 "nan",
                                 "-nan",
                                 "NaN",
                                 "na",
                                 "nan(",
                                 "nan()",
                                 "nan(1)",
                                 "-nan(a_Z)",
                                 "nan(a-b)",
                                 "nan(1",
                                 "nan(1))",
                                 "nan[1]",
                                 "1e400",
                                 "-1e400",
                                 "1e-400",
                                 "-1e-400",
                                 "1e39",
                                 "-1e39",
                                 "1e-46",
                                 "0e400",
                                 "-0e-400",
                                 "0.000e999",
                                 "1e-320",
                                 "1e-310",
                                 "5e-324",
                                 "2e-324",
                                 "3e-324",
                                 "7e-46",
                                 "7.1e-46",
                                 "1e-45",
                                 "1e308",
                                 "1.8e308",
                                 "1.7976931348623158e308",
                                 "1.7976931348623159e308",
                                 "2.2250738585072011e-308",
                                 "3.4028235e38",
                                 "3.4028236e38",
                                 "1e99999999999999999999",
                                 "1e-99999999999999999999",
                                 "0e99999999999999999999",
                                 "1e00000000000000000001",
                                 "9007199254740993",
                                 "9007199254740993.0000000000000000000001",
                                 "16777217",
                                 "16777217.0000000000000000000001"}) {
    EXPECT(both_agree(text));
  }
  EXPECT(both_agree(std::string_view("1\0002", 3)));
  EXPECT(both_agree(std::string_view("\0001", 2)));
}

TEST(very_long_numbers_are_what_from_chars_says) {
  const std::string zeros(5000, '0'), nines(5000, '9');
  for (const std::string& text :
       {nines, "0." + zeros + "1", zeros + "1", "1" + zeros, "1" + zeros + "e-5000",
        "-0." + zeros + "25e5000", "0." + zeros, "0." + nines, nines + "." + nines + "e-4990",
        "1." + zeros + "1", "16777217." + zeros + "1", "9007199254740993." + zeros + "1",
        "1e" + zeros + "5", "nan(" + zeros + ")"}) {
    EXPECT(both_agree(text));
  }
}

TEST(random_text_is_what_from_chars_says) {
  constexpr std::string_view kLetters =
      "0123456789012345678901234567890123456789......eeeEE++---  \tinfatyINFATYxX()_,";
  Rng rng(1, {});
  for (int round = 0; round < 300000; ++round) {
    std::string text;
    for (std::uint64_t i = rng.below(20); i > 0; --i) text += kLetters[rng.below(kLetters.size())];
    EXPECT(both_agree(text));
  }
}

TEST(random_numbers_are_what_from_chars_says) {
  Rng rng(2, {});
  for (int round = 0; round < 300000; ++round) {
    std::string text = rng.below(2) == 0 ? "-" : "";
    text += digits_of(rng, rng.below(25));
    if (rng.below(4) != 0) text.append(".").append(digits_of(rng, rng.below(25)));
    // Near the ends of both ranges as well as in their middle.
    constexpr std::array<int, 7> kPowers = {0, 38, -38, -45, 308, -308, -324};
    const int power = kPowers[rng.below(kPowers.size())] + static_cast<int>(rng.below(50)) - 25;
    if (rng.below(4) != 0) text.append(rng.below(2) == 0 ? "e" : "E").append(std::to_string(power));
    EXPECT(both_agree(text));
  }
}

// The shortest digits of any number, and all digits of what lies right between two numbers: the
// hardest to round.
template <class Real, class Bits>
bool all_agree(std::uint64_t seed) {
  Rng rng(seed, {});
  bool same = true;
  for (int round = 0; round < 100000; ++round) {
    const auto value = std::bit_cast<Real>(static_cast<Bits>(rng.next()));
    std::array<char, 64> digits;
    const auto written = std::to_chars(digits.begin(), digits.end(), value);
    same &= both_agree({digits.data(), static_cast<std::size_t>(written.ptr - digits.data())});
  }
  return same;
}

TEST(the_digits_of_any_number_are_what_from_chars_says) {
  EXPECT((all_agree<float, std::uint32_t>(3)));
  EXPECT((all_agree<double, std::uint64_t>(4)));
}

TEST(what_lies_between_two_floats_is_rounded_as_from_chars_does_it) {
  Rng rng(5, {});
  for (int round = 0; round < 20000; ++round) {
    // A finite float, its neighbour, and their middle, which is a double.
    const auto bits = static_cast<std::uint32_t>(rng.below(0x7f7fffff));
    const double low = std::bit_cast<float>(bits), high = std::bit_cast<float>(bits + 1);
    std::array<char, 400> digits;
    const auto written = std::to_chars(digits.begin(), digits.end(), (low + high) / 2,
                                       std::chars_format::scientific, 150);
    std::string middle(digits.data(), written.ptr);
    EXPECT(both_agree(middle));
    // A hair above the middle: a digit where the zeros end that all these numbers end with.
    middle.insert(middle.begin() + static_cast<std::ptrdiff_t>(middle.find('e')), '1');
    EXPECT(both_agree(middle));
  }
}

TEST(the_locale_of_a_user_is_not_asked) {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  if (std::setlocale(LC_NUMERIC, "de_DE.UTF-8") == nullptr &&
      std::setlocale(LC_NUMERIC, "fr_FR.UTF-8") == nullptr) {
    SKIP("no locale with a decimal comma is installed");
  }
  const double of_user = std::strtod("1.5", nullptr);
  double value = 0;
  const std::string_view text = "1.5";
  parse_c_number(text.data(), text.data() + text.size(), value);
  std::setlocale(LC_NUMERIC, before.c_str());
  EXPECT(of_user == 1);
  EXPECT(value == 1.5);
}

}  // namespace
}  // namespace gz
