#include "core/convert/text_edges.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/base/error.h"
#include "core/base/parse_number.h"
#include "core/base/types.h"

namespace gz {
namespace {

constexpr std::size_t kUsualPiece = 2 << 20;

// Up to 16 digits, eight at a time: a byte less '0' is 0 to 9 for digits, and the multiplications
// join neighbouring digits, then pairs, then fours (Lemire, Muła: number parsing by SWAR). Returns
// where the digits end; `at` itself if there are none or more than 16.
const char* parse_digits(const char* at, std::uint64_t& value) {
  std::uint64_t result = 0;
  for (int round = 0; round < 2; ++round) {
    std::uint64_t word;
    std::memcpy(&word, at + 8 * round, sizeof word);
    const std::uint64_t digits = word ^ 0x3030303030303030u;
    const std::uint64_t others = ((digits + 0x7676767676767676u) | digits) & 0x8080808080808080u;
    const int count = std::countr_zero(others) / 8;  // 8 if all are digits
    if (count == 0) {
      value = result;
      return round == 0 ? at : at + 8;
    }
    // The digits move to the top; zeros come in below them and read as leading zeros.
    std::uint64_t joined = digits << (64 - 8 * count);
    joined = (joined * 10 + (joined >> 8)) & 0x00ff00ff00ff00ffu;
    joined = (joined * 100 + (joined >> 16)) & 0x0000ffff0000ffffu;
    joined = (joined * 10000 + (joined >> 32)) & 0xffffffffu;
    constexpr std::uint64_t kPowers[] = {1,      10,      100,      1000,     10000,
                                         100000, 1000000, 10000000, 100000000};
    result = result * kPowers[count] + joined;
    if (count < 8) {
      value = result;
      return at + 8 * round + count;
    }
  }
  value = result;
  const char* const end = at + 16;
  return *end >= '0' && *end <= '9' ? at : end;
}

// The whole field, with a plus sign or without.
template <class Value>
bool parse_whole(std::string_view field, Value& value, std::errc& error) {
  if (!field.empty() && field.front() == '+') field.remove_prefix(1);
  const auto [stop, code] = parse_number(field.data(), field.data() + field.size(), value);
  error = code;
  return code == std::errc{} && stop == field.data() + field.size() && !field.empty();
}

class LineParser {
 public:
  LineParser(std::string_view text, const TextFormat& format, const EdgeColumns& columns,
             bool skip_bad, ParsedEdges& out)
      : at_(text.data()),
        end_(text.data() + text.size()),
        format_(format),
        columns_(columns),
        skip_bad_(skip_bad),
        out_(out) {}

  void run() {
    const bool only_ends = format_.num_columns == 2 && columns_.src + columns_.dst == 1 &&
                           !columns_.weight && !columns_.time && !columns_.row_lines;
    if (only_ends) {
      if (columns_.src == 0) {
        run_pairs(out_.src.data(), out_.dst.data());
      } else {
        run_pairs(out_.dst.data(), out_.src.data());
      }
    } else {
      while (at_ < end_) next_line([&] { return wide_line(); });
    }
  }

 private:
  // Two plain numbers and nothing else: the shape of nearly every line of nearly every file.
  void run_pairs(std::uint64_t* first, std::uint64_t* second) {
    const char delimiter = format_.delimiter;
    while (at_ < end_) {
      const char* line = at_;
      std::uint64_t a = 0, b = 0;
      const char* p = parse_digits(line, a);
      if (p != line && is_delimiter(*p, delimiter)) {
        const char* const q = p + 1;
        p = parse_digits(q, b);
        if (p != q) {
          if (*p == '\r') ++p;
          if (*p == '\n' && p < end_) {
            first[out_.count] = a;
            second[out_.count] = b;
            ++out_.count;
            ++out_.lines;
            at_ = p + 1;
            continue;
          }
        }
      }
      next_line([] { return false; });
    }
  }

  // Lets `fast` try; what it gives up is parsed slowly, with every exception to the rule.
  template <class Fast>
  void next_line(Fast&& fast) {
    ++out_.lines;
    if (fast()) return;
    const auto* newline =
        static_cast<const char*>(std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_)));
    const char* const stop = newline == nullptr ? end_ : newline;
    std::string_view line(at_, static_cast<std::size_t>(stop - at_));
    at_ = newline == nullptr ? end_ : newline + 1;
    slow_line(line);
  }

  // Several columns, none of them quoted. True if the whole line was as it should be.
  bool wide_line() {
    const char* p = at_;
    std::uint64_t src = 0, dst = 0;
    float weight = 0;
    std::int64_t time = 0;
    for (std::size_t column = 0; column < format_.num_columns; ++column) {
      while (is_blank(*p) && *p != format_.delimiter) ++p;
      const char* field_end = p;
      if (column == columns_.src) {
        field_end = parse_digits(p, src);
      } else if (column == columns_.dst) {
        field_end = parse_digits(p, dst);
      } else if (column == columns_.weight) {
        const auto [stop, error] = parse_number(p, end_, weight);
        if (error != std::errc{} || !(std::isfinite(weight) && weight >= 0)) return false;
        field_end = stop;
      } else if (column == columns_.time && columns_.iso_times) {
        if (*p == '"') return false;
        while (field_end < end_ && *field_end != '\n' && *field_end != '\r' &&
               !at_delimiter(field_end))
          ++field_end;
        const char* last = field_end;
        while (last > p && is_blank(last[-1])) --last;
        const IsoTime found = parse_iso_time({p, last}, *columns_.iso_times);
        if (found.fault != TimeFault::kNone) return false;
        time = found.value;
      } else if (column == columns_.time) {
        const auto [stop, error] = parse_number(p, end_, time);
        if (error != std::errc{}) return false;
        field_end = stop;
      } else {
        if (*p == '"') return false;
        while (field_end < end_ && *field_end != '\n' && *field_end != '\r' &&
               !at_delimiter(field_end))
          ++field_end;
      }
      if (field_end == p) return false;
      p = field_end;
      if (column + 1 < format_.num_columns) {
        if (p >= end_ || !at_delimiter(p)) return false;
        ++p;
      }
    }
    if (p < end_ && *p == '\r') ++p;
    if (p >= end_ || *p != '\n') return false;
    store(src, dst, weight, time);
    at_ = p + 1;
    return true;
  }

  bool at_delimiter(const char* p) const { return is_delimiter(*p, format_.delimiter); }

  void store(std::uint64_t src, std::uint64_t dst, float weight, std::int64_t time) {
    out_.src[out_.count] = src;
    out_.dst[out_.count] = dst;
    if (columns_.weight) out_.weight[out_.count] = weight;
    if (columns_.time) out_.time[out_.count] = time;
    if (columns_.row_lines) out_.row_lines[out_.count] = static_cast<std::int64_t>(out_.lines);
    ++out_.count;
  }

  void slow_line(std::string_view line) {
    std::string_view content = line;
    while (!content.empty() && content.back() == '\r') content.remove_suffix(1);
    if (has_inner_return(content)) return refuse(content, kInnerReturn);
    if (!is_data(content, format_.comment)) return;
    const auto [fields, count, open_quote] =
        split_line(content, format_.delimiter, format_.num_columns);
    if (open_quote) out_.bad.refuse(out_.lines, content, kOpenQuote, /*skip=*/false);
    if (count != format_.num_columns) {
      refuse(content, concat("expected ", format_.num_columns, " columns, found ", count));
      return;
    }
    std::string reason;
    const std::uint64_t src = id(fields[columns_.src], reason);
    const std::uint64_t dst = id(fields[columns_.dst], reason);
    const float weight = columns_.weight ? parse_weight(fields[*columns_.weight], reason) : 0;
    const std::int64_t time =
        columns_.time ? parse_time(fields[*columns_.time], columns_, reason) : 0;
    if (reason.empty()) {
      store(src, dst, weight, time);
    } else {
      refuse(content, reason);
    }
  }

  static std::uint64_t id(const std::string& field, std::string& reason) {
    std::uint64_t value = 0;
    std::errc error{};
    const bool whole = parse_whole(field, value, error);
    if (reason.empty() &&
        (error == std::errc::result_out_of_range || (whole && value >= kMaxCount))) {
      reason = concat("expected a node id below 2^59, found '", excerpt(field), "'");
    } else if (reason.empty() && !whole) {
      reason = concat("expected a node id, found '", excerpt(field), "'");
    }
    return value;
  }

  void refuse(std::string_view line, std::string reason) {
    out_.bad.refuse(out_.lines, line, std::move(reason), skip_bad_);
  }

  const char* at_;
  const char* const end_;
  const TextFormat& format_;
  const EdgeColumns& columns_;
  const bool skip_bad_;
  ParsedEdges& out_;
};

template <class Item>
void make_room(std::vector<Item>& column, std::size_t count) {
  if (column.size() < count) column.resize(count);
}

}  // namespace

std::string decimal_comma_hint(const std::string& field) {
  const std::size_t comma = field.find(',');
  if (comma == std::string::npos) return "";
  std::string with_point = field;
  with_point[comma] = '.';
  double ignored = 0;
  std::errc error{};
  if (!parse_whole(with_point, ignored, error)) return "";
  return concat(": a decimal comma; write ", excerpt(with_point));
}

float parse_weight(const std::string& field, std::string& reason) {
  float value = 0;
  std::errc error{};
  const bool whole = parse_whole(field, value, error);
  if (error == std::errc::result_out_of_range) {
    // Too small reads as zero; too large has no float.
    double larger = 0;
    std::errc ignored{};
    if (parse_whole(field, larger, ignored) && larger >= 0 && larger < 1) return 0;
  }
  if (reason.empty() && !(whole && std::isfinite(value) && value >= 0)) {
    reason = concat("expected a weight that is finite and not negative, found '", excerpt(field),
                    "'", decimal_comma_hint(field));
  }
  return value;
}

namespace {

constexpr const char* kUnitNames[] = {"seconds", "milliseconds", "microseconds", "nanoseconds"};
constexpr const char* kUnits[] = {"s", "ms", "us", "ns"};

std::string iso_problem(const std::string& field, TimeUnit unit, const IsoTime& found) {
  const std::string text = concat("found '", excerpt(field), "'");
  const auto name = kUnitNames[static_cast<std::size_t>(unit)];
  const auto advice = [](TimeUnit other) {
    return concat("; give time_unit=\"", kUnits[static_cast<std::size_t>(other)], "\"");
  };
  switch (found.fault) {
    case TimeFault::kFiner:
      return concat("expected a time in whole ", name, ", ", text,
                    found.holds ? advice(found.needed) : "; no time_unit is finer than \"ns\"");
    case TimeFault::kTooFar:
      return concat("expected a time that 64 bits can count in ", name, ", ", text,
                    advice(TimeUnit::kMicrosecond));
    default:
      return concat("expected a time as in the first line, such as 2024-01-31T12:00:00Z, ", text);
  }
}

}  // namespace

std::int64_t parse_time(const std::string& field, const EdgeColumns& columns, std::string& reason) {
  if (columns.iso_times) {
    const IsoTime found = parse_iso_time(field, *columns.iso_times);
    if (found.fault != TimeFault::kNone && reason.empty())
      reason = iso_problem(field, *columns.iso_times, found);
    return found.value;
  }
  std::int64_t value = 0;
  std::errc error{};
  if (!parse_whole(field, value, error) && reason.empty()) {
    const bool is_iso = parse_iso_time(field, TimeUnit::kSecond).fault != TimeFault::kNoTime;
    reason = concat("expected an integer time", is_iso ? " as in the first line" : "", ", found '",
                    excerpt(field), "'");
  }
  return value;
}

void BadLines::refuse(std::uint64_t line, std::string_view text, std::string reason, bool skip) {
  BadLine bad = {line, excerpt(text), std::move(reason)};
  if (!skip) throw BadLineError(std::move(bad));
  ++count;
  if (first.size() < kMaxBadLines) first.push_back(std::move(bad));
}

void BadLines::join(BadLines&& part, std::uint64_t lines_before) {
  count += part.count;
  for (BadLine& bad : part.first) {
    if (first.size() == kMaxBadLines) return;
    bad.line += lines_before;
    first.push_back(std::move(bad));
  }
}

void refuse_line(const std::string& name, const BadLine& bad) {
  throw std::invalid_argument(
      concat(name, ": line ", bad.line, ": ", bad.reason, ": \"", bad.text, "\""));
}

void parse_edges(std::string_view text, const TextFormat& format, const EdgeColumns& columns,
                 bool skip_bad, ParsedEdges& out) {
  out.count = 0;
  out.lines = 0;
  out.bad = {};
  // The shortest edge is "0 1\n". A piece this large has long lines, and few of them.
  const bool has_long_lines = text.size() > kUsualPiece;
  const std::size_t most =
      has_long_lines ? static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1
                     : text.size() / 4 + 1;
  make_room(out.src, most);
  make_room(out.dst, most);
  if (columns.weight) make_room(out.weight, most);
  if (columns.time) make_room(out.time, most);
  if (columns.row_lines) make_room(out.row_lines, most);
  LineParser(text, format, columns, skip_bad, out).run();
}

}  // namespace gz
