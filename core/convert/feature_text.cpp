#include "core/convert/feature_text.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/base/parse_number.h"
#include "core/convert/text_edges.h"

namespace gz {
namespace {

constexpr std::size_t kSkipped = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kId = kSkipped - 1;
constexpr std::size_t kLeastRow = 1;  // bytes of text

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// What a bool is stored as; a type of its own, so that it is parsed as one.
enum class Flag : std::uint8_t { kNo, kYes };

// Powers of ten that a double holds exactly.
constexpr std::array<double, 23> kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Parses [-]digits[.digits] where the result is exact by one division of exact numbers (Clinger
// 1990). Null where it is not, or where an exponent follows: then the library has to do it.
const char* parse_plain_decimal(const char* p, const char* end, double& value) {
  const bool negative = p < end && *p == '-';
  if (negative) ++p;
  std::uint64_t digits = 0;
  const char* const first = p;
  while (p < end && is_digit(*p)) digits = digits * 10 + static_cast<std::uint64_t>(*p++ - '0');
  std::ptrdiff_t num_digits = p - first;
  std::ptrdiff_t num_decimals = 0;
  if (p < end && *p == '.') {
    const char* const point = p++;
    while (p < end && is_digit(*p)) digits = digits * 10 + static_cast<std::uint64_t>(*p++ - '0');
    num_decimals = p - point - 1;
    num_digits += num_decimals;
  }
  // Nineteen digits fit 64 bits; below 2^53 they fit a double.
  if (num_digits == 0 || num_digits > 19 || digits > std::uint64_t{1} << 53) return nullptr;
  if (p < end && (*p == 'e' || *p == 'E')) return nullptr;
  const double magnitude =
      static_cast<double>(digits) / kPowers[static_cast<std::size_t>(num_decimals)];
  value = negative ? -magnitude : magnitude;
  return p;
}

// Each parse_item() returns the end of the number, or null if there is none that fits.
template <class Float>
  requires std::is_floating_point_v<Float>
const char* parse_item(const char* p, const char* end, Float& value) {
  double exact = 0;
  if (const char* const after = parse_plain_decimal(p, end, exact)) {
    if constexpr (sizeof(Float) == 8) {
      value = exact;
      return after;
    } else {
      // Rounding twice errs only if the double came to lie right between two floats.
      constexpr std::uint64_t kRest = (std::uint64_t{1} << 29) - 1;
      if ((std::bit_cast<std::uint64_t>(exact) & kRest) != std::uint64_t{1} << 28) {
        value = static_cast<Float>(exact);
        return after;
      }
    }
  }
  const auto [after, error] = parse_number(p, end, value);
  if (error == std::errc::invalid_argument) return nullptr;
  if (error == std::errc::result_out_of_range) {
    if (!is_below_one(p, after)) return nullptr;
    value = *p == '-' ? -Float{0} : Float{0};
  }
  return after;
}

template <class Integer>
  requires std::is_integral_v<Integer>
const char* parse_item(const char* p, const char* end, Integer& value) {
  const auto [after, error] = parse_number(p, end, value);
  const bool goes_on = after < end && (*after == '.' || *after == 'e' || *after == 'E');
  if (error == std::errc{} && !goes_on) return after;
  if (error == std::errc::invalid_argument && !(p < end && (*p == '.' || *p == '-')))
    return nullptr;
  // "1e3" and "2.0" are integers too, as far as a double tells every integer from the next.
  double number = 0;
  const auto [number_end, number_error] = parse_number(p, end, number);
  if (number_error != std::errc{} || number != std::trunc(number)) return nullptr;
  if (number_end == after || std::abs(number) > 9007199254740992.0) return nullptr;
  if (number < static_cast<double>(std::numeric_limits<Integer>::min()) ||
      number > static_cast<double>(std::numeric_limits<Integer>::max())) {
    return nullptr;
  }
  value = static_cast<Integer>(number);
  return number_end;
}

const char* parse_item(const char* p, const char* end, Flag& value) {
  const auto is_word = [&](std::string_view word) {
    if (static_cast<std::size_t>(end - p) < word.size()) return false;
    for (std::size_t i = 0; i < word.size(); ++i) {
      if ((p[i] | 0x20) != word[i]) return false;
    }
    return true;
  };
  if (is_word("true")) {
    value = Flag::kYes;
    return p + 4;
  }
  if (is_word("false")) {
    value = Flag::kNo;
    return p + 5;
  }
  std::int64_t number = 0;
  const char* const after = parse_item(p, end, number);
  if (after == nullptr || (number != 0 && number != 1)) return nullptr;
  value = number == 1 ? Flag::kYes : Flag::kNo;
  return after;
}

template <class Item>
constexpr const char* kWanted = "an integer";
template <>
constexpr const char* kWanted<Flag> = "0, 1, true or false";
template <>
constexpr const char* kWanted<float> = "a number";
template <>
constexpr const char* kWanted<double> = "a number";

template <class Item>
class RowParser {
 public:
  // `targets` says for each field which item of the row it is, or kId, or kSkipped.
  RowParser(const FeatureTextOptions& options, const std::vector<std::size_t>& targets)
      : options_(options), targets_(targets) {}

  // Goes through the lines of `text`. Bad ones count within the piece, from 1.
  void run(std::string_view text, FeatureRows& rows, FeatureText& counts) {
    const std::size_t row_bytes = options_.columns.size() * sizeof(Item);
    const char* at = text.data();
    const char* const end = at + text.size();
    // What the first lines need for each of their bytes is what the others will, more or less.
    std::size_t used = 0;
    while (at < end) {
      const auto* const newline =
          static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
      const char* const stop = newline == nullptr ? end : newline;
      const std::string_view line(at, static_cast<std::size_t>(stop - at));
      at = newline == nullptr ? end : newline + 1;
      ++counts.num_lines;

      if (used + row_bytes > rows.items.size()) {
        const double progress =
            static_cast<double>(at - text.data()) / static_cast<double>(text.size());
        const double guess = static_cast<double>(used + row_bytes) / progress;
        // Lines before the first row may be short; but an item takes two bytes, with its delimiter.
        const std::size_t row_text = std::max(targets_.size() + options_.columns.size(), kLeastRow);
        const auto left = static_cast<std::size_t>(end - line.data()) / row_text;
        const std::size_t most = used + (left + 1) * row_bytes;
        rows.items.resize(
            std::clamp(static_cast<std::size_t>(guess * 1.02), used + row_bytes, most));
      }
      std::int64_t id = 0;
      label_.clear();
      // Items of one row stay aligned: the buffer is, and all of them are of one size.
      if (parse_line(line, reinterpret_cast<Item*>(rows.items.data() + used), id)) {
        used += row_bytes;
        ++rows.num_rows;
        if (options_.id_column) {
          if (has_text_ids()) {
            append_label(rows.labels, label_);
          } else {
            rows.ids.push_back(id);
          }
          rows.lines.push_back(static_cast<std::int64_t>(counts.num_lines));
        }
        continue;
      }
      if (!has_inner_return(line) && !is_data(line, options_.comment)) continue;
      refuse(line, counts);
    }
    rows.items.resize(used);
  }

 private:
  const char* skip_blanks(const char* p, const char* end) const {
    while (p < end && is_blank(*p) && *p != options_.delimiter) ++p;
    return p;
  }

  // Parses the quotes, sign and blanks around a number. Null if it is not one.
  template <class Number>
  static const char* parse_field(const char* p, const char* end, Number& value) {
    const bool quoted = p < end && *p == '"';
    if (quoted) {
      ++p;
      while (p < end && is_blank(*p)) ++p;
    }
    if (p < end && *p == '+') {
      ++p;
      if (p < end && *p == '-') return nullptr;
    }
    p = parse_item(p, end, value);
    if (p == nullptr || !quoted) return p;
    while (p < end && is_blank(*p)) ++p;
    return p < end && *p == '"' ? p + 1 : nullptr;
  }

  // Null if its quote does not close.
  const char* skip_field(const char* p, const char* end) const {
    if (p < end && *p == '"') {
      bool closed = false;
      for (++p; p < end && !closed; ++p) {
        if (*p != '"') continue;
        closed = p + 1 == end || p[1] != '"';
        if (!closed) ++p;
      }
      if (!closed) return nullptr;
    }
    const auto at_end = [&] { return *p == '\r' || is_delimiter(*p, options_.delimiter); };
    while (p < end && !at_end()) ++p;
    return p;
  }

  bool has_text_ids() const { return options_.id_labels == LabelKind::kString; }
  bool is_fit(std::int64_t id) const { return options_.id_labels || is_possible_id(id); }

  // A text label up to the delimiter, into label_. Null if it is none.
  const char* parse_label(const char* p, const char* end) {
    const char* const stop = skip_field(p, end);
    if (stop == nullptr) return nullptr;
    const std::string_view field(p, static_cast<std::size_t>(stop - p));
    if (!field.empty() && field.front() == '"') {
      const LineFields found = split_line(field, options_.delimiter, 1);
      if (found.count != 1) return nullptr;
      label_ = found.fields[0];
    } else {
      label_ = field.substr(0, field.find_last_not_of(" \t") + 1);
    }
    return label_.empty() || !not_utf8(label_).empty() ? nullptr : stop;
  }

  bool parse_line(std::string_view line, Item* row, std::int64_t& id) {
    const char* p = line.data();
    const char* end = p + line.size();
    while (p < end && end[-1] == '\r') --end;
    const bool by_blanks = options_.delimiter == ' ';
    if (by_blanks) {
      while (p < end && is_blank(end[-1])) --end;
      while (p < end && is_blank(*p)) ++p;
    }
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      if (i > 0) {
        if (by_blanks) {
          if (p == end || !is_blank(*p)) return false;
          while (p < end && is_blank(*p)) ++p;
        } else {
          if (p == end || *p != options_.delimiter) return false;
          ++p;
        }
      }
      if (!by_blanks) p = skip_blanks(p, end);
      const std::size_t target = targets_[i];
      if (target == kSkipped) {
        p = skip_field(p, end);
        if (p == nullptr) return false;
        continue;
      }
      if (target == kId && has_text_ids()) {
        p = parse_label(p, end);
        if (p == nullptr) return false;
      } else if (target == kId) {
        p = parse_field(p, end, id);
        if (p == nullptr || !is_fit(id)) return false;
      } else {
        p = parse_field(p, end, row[target]);
        if (p == nullptr) return false;
      }
      if (!by_blanks) p = skip_blanks(p, end);
    }
    return p == end;
  }

  // The slow way through a line that is no row: what is wrong with it?
  std::string reason(std::string_view line) const {
    if (has_inner_return(line)) return kInnerReturn;
    while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const auto [fields, count, open_quote] = split_line(line, options_.delimiter, targets_.size());
    if (open_quote) return kOpenQuote;
    if (count != targets_.size()) {
      return concat("expected ", targets_.size(), " fields, found ", count);
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string& field = fields[i];
      const std::string where = concat("column ", i + 1, ": expected ");
      if (targets_[i] == kSkipped) continue;
      if (targets_[i] == kId && has_text_ids()) {
        if (field.empty()) return concat(where, "a label, found ", shown(field));
        if (!not_utf8(field).empty()) return not_utf8(line);
        continue;
      }
      if (targets_[i] == kId) {
        std::int64_t id = 0;
        if (!is_whole(field, id) || !is_fit(id)) {
          const char* const wanted = options_.id_labels ? "an integer" : "an id from 0 to 2^59-1";
          return concat(where, wanted, ", found ", shown(field));
        }
        continue;
      }
      Item item{};
      if (is_whole(field, item)) continue;
      double number = 0;
      const bool is_number = is_whole(field, number);
      if constexpr (std::is_floating_point_v<Item>) {
        if (!field.empty() && (is_digit(field.back()) || field.back() == '.') &&
            (is_number || is_huge(field))) {
          return concat(where, "a number that fits ", dtype_name(options_.dtype), ", found ",
                        excerpt(field));
        }
      } else if constexpr (!std::is_same_v<Item, Flag>) {
        if (is_number && number == std::trunc(number)) {
          return concat(where, "an integer that fits ", dtype_name(options_.dtype), ", found ",
                        excerpt(field));
        }
      }
      return concat(where, kWanted<Item>, ", found ", shown(field), decimal_comma_hint(field));
    }
    return "expected fields with nothing behind their quotes, found something";
  }

  static std::string shown(const std::string& field) {
    return field.empty() ? "an empty field" : concat("'", excerpt(field), "'");
  }

  template <class Number>
  static bool is_whole(const std::string& field, Number& value) {
    const char* const end = field.data() + field.size();
    return !field.empty() && parse_field(field.data(), end, value) == end;
  }

  static bool is_huge(const std::string& field) {
    const bool has_plus = field.starts_with('+') && !field.starts_with("+-");
    const char* const begin = field.data() + (has_plus ? 1 : 0);
    const char* const end = field.data() + field.size();
    double value = 0;
    const auto [stop, error] = parse_number(begin, end, value);
    return error == std::errc::result_out_of_range && stop == end && !is_below_one(begin, end);
  }

  void refuse(std::string_view line, FeatureText& counts) const {
    while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    std::string found = reason(line);
    const bool skip = options_.skip_bad_lines && found != kOpenQuote;
    counts.bad.refuse(counts.num_lines, line, std::move(found), skip);
  }

  const FeatureTextOptions& options_;
  const std::vector<std::size_t>& targets_;
  std::string label_;  // of the line that is parsed
};

template <class Body>
void with_item_type(Dtype dtype, Body&& body) {
  switch (dtype) {
    case Dtype::kInt8:
      return body.template operator()<std::int8_t>();
    case Dtype::kInt16:
      return body.template operator()<std::int16_t>();
    case Dtype::kInt32:
      return body.template operator()<std::int32_t>();
    case Dtype::kInt64:
      return body.template operator()<std::int64_t>();
    case Dtype::kUint8:
      return body.template operator()<std::uint8_t>();
    case Dtype::kBool:
      return body.template operator()<Flag>();
    case Dtype::kFloat32:
      return body.template operator()<float>();
    case Dtype::kFloat64:
      return body.template operator()<double>();
    case Dtype::kFloat16:
    case Dtype::kBfloat16:
      break;
  }
  throw std::invalid_argument(concat("text is not parsed as ", dtype_name(dtype)));
}

std::vector<std::size_t> targets_of(const FeatureTextOptions& options) {
  std::vector<std::size_t> targets(options.num_columns, kSkipped);
  for (std::size_t i = 0; i < options.columns.size(); ++i) {
    if (options.columns[i] >= targets.size() || targets[options.columns[i]] != kSkipped) {
      throw std::invalid_argument(
          concat("column ", options.columns[i], " is there twice, or not there"));
    }
    targets[options.columns[i]] = i;
  }
  if (options.id_column) {
    if (*options.id_column >= targets.size() || targets[*options.id_column] != kSkipped) {
      throw std::invalid_argument(
          concat("id column ", *options.id_column, " is a feature, or not there"));
    }
    targets[*options.id_column] = kId;
  }
  return targets;
}

// The text cut into at most `count` parts of whole lines.
std::vector<std::string_view> cut(std::string_view text, std::size_t count) {
  std::vector<std::string_view> parts;
  const std::size_t nominal = text.size() / count + 1;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n', std::min(nominal, text.size()) - 1);
    const std::size_t length = newline == std::string_view::npos ? text.size() : newline + 1;
    parts.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return parts;
}

}  // namespace

FeatureText parse_features(std::string_view text, std::uint64_t lines_before,
                           std::size_t num_pieces, const FeatureTextOptions& options) {
  const auto targets = targets_of(options);
  const auto parts = cut(text, std::max<std::size_t>(num_pieces, 1));
  FeatureText result;
  result.pieces.resize(parts.size());
  std::vector<FeatureText> counts(parts.size());
  std::vector<std::optional<BadLine>> failures(parts.size());
  with_item_type(options.dtype, [&]<class Item>() {
    parallel_chunks(parts.size(), 1, [&](std::size_t i, std::size_t) {
      try {
        RowParser<Item>(options, targets).run(parts[i], result.pieces[i], counts[i]);
      } catch (const BadLineError& error) {
        failures[i] = error.bad;
      }
    });
  });
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::uint64_t before = lines_before + result.num_lines;
    if (failures[i]) {
      throw FormatError(options.name, "line ", before + failures[i]->line, ": ",
                        failures[i]->reason, ": ", failures[i]->text);
    }
    for (std::int64_t& line : result.pieces[i].lines) line += static_cast<std::int64_t>(before);
    result.bad.join(std::move(counts[i].bad), before);
    result.num_lines += counts[i].num_lines;
  }
  return result;
}

}  // namespace gz
