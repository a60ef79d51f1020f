#include "core/convert/text_format.h"

#include <algorithm>
#include <stdexcept>

#include "core/base/error.h"
#include "core/base/parse_number.h"
#include "core/format/gi.h"

namespace gz {
namespace {

constexpr std::size_t kChunk = 64 << 10;
constexpr std::size_t kShownText = 80;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (is_blank(text.front()) || text.front() == '\r')) text.remove_prefix(1);
  while (!text.empty() && (is_blank(text.back()) || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

std::string_view without_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_number(std::string_view field) {
  field = trimmed(field);
  if (!field.empty() && field.front() == '+') field.remove_prefix(1);
  double value = 0;
  const auto [end, error] = parse_number(field.data(), field.data() + field.size(), value);
  // Out of range is a number too, only a large one.
  return end == field.data() + field.size() && !field.empty() &&
         error != std::errc::invalid_argument;
}

// Calls visit(field) for each field of the line until it says false. Returns false if a quote that
// opens a field does not close.
template <class Visit>
bool for_each_field(std::string_view line, char delimiter, Visit visit) {
  std::size_t at = 0;
  const auto at_delimiter = [&] { return is_delimiter(line[at], delimiter); };
  if (delimiter == ' ') line = trimmed(line);
  std::string unquoted;
  while (true) {
    while (at < line.size() && is_blank(line[at]) && line[at] != delimiter) ++at;
    const std::size_t begin = at;
    std::string_view field;
    if (at < line.size() && line[at] == '"') {
      unquoted.clear();
      bool closed = false;
      for (++at; at < line.size() && !closed; ++at) {
        if (line[at] == '"' && (at + 1 >= line.size() || line[at + 1] != '"')) {
          closed = true;
          continue;
        }
        if (line[at] == '"') ++at;
        unquoted += line[at];
      }
      if (!closed) return false;
      const std::size_t end = at;
      while (at < line.size() && !at_delimiter()) ++at;
      // With something behind the quotes it is no quoted field.
      const bool quoted = trimmed(line.substr(end, at - end)).empty();
      field = quoted ? unquoted : trimmed(line.substr(begin, at - begin));
    } else {
      while (at < line.size() && !at_delimiter()) ++at;
      field = trimmed(line.substr(begin, at - begin));
    }
    if (!visit(field)) return true;
    if (at >= line.size()) return true;
    ++at;
    if (delimiter == ' ') {
      while (at < line.size() && is_blank(line[at])) ++at;
    }
  }
}

// A number, also one with a decimal comma where that cannot stand between fields: such a field is
// refused later, but it is no text.
bool is_like_number(std::string_view field, char delimiter) {
  if (is_number(field)) return true;
  const std::size_t comma = field.find(',');
  if (delimiter == ',' || comma == std::string::npos) return false;
  std::string with_point(field);
  with_point[comma] = '.';
  return is_number(with_point);
}

bool has_outside_quotes(std::string_view line, char wanted) {
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (!quoted && is_delimiter(c, wanted)) return true;
  }
  return false;
}

// A tab at either end of a line sets off an empty field.
std::string_view without_ends(std::string_view line, char delimiter) {
  return delimiter == '\t' ? without_return(line) : trimmed(line);
}

// All fields are numbers, or missing.
bool is_all_numbers(std::string_view line, char delimiter) {
  std::size_t fields = 0, numbers = 0;
  bool others = false;
  for_each_field(without_ends(line, delimiter), delimiter, [&](std::string_view field) {
    ++fields;
    const bool number = !field.empty() && is_like_number(field, delimiter);
    numbers += number;
    others = !field.empty() && !number;
    return !others;
  });
  return !others && fields > 1 && numbers > 0;
}

bool starts_with_two_numbers(std::string_view line, char delimiter) {
  std::size_t numbers = 0;
  for_each_field(without_ends(line, delimiter), delimiter,
                 [&](std::string_view field) { return is_number(field) && ++numbers < 2; });
  return numbers == 2;
}

bool has_number(std::string_view line, char delimiter) {
  bool found = false;
  for_each_field(without_ends(line, delimiter), delimiter, [&](std::string_view field) {
    found = is_like_number(field, delimiter);
    return !found;
  });
  return found;
}

// Numbers on both sides are the best evidence: in "1;2;0,5" the semicolon leaves numbers, the comma
// does not. Where there are none, the one delimiter that all lines have is taken, and blanks only
// if there is none. Throws if several are left.
char guess_delimiter(const std::string& name, const std::vector<std::string_view>& lines) {
  constexpr char kCandidates[] = {',', '\t', ';', '|', ' '};
  for (const auto proves : {is_all_numbers, starts_with_two_numbers}) {
    for (const std::string_view line : lines) {
      for (const char candidate : kCandidates) {
        if (has_outside_quotes(trimmed(line), candidate) && proves(line, candidate))
          return candidate;
      }
    }
  }
  std::string left;
  for (const char candidate : {',', '\t', ';', '|'}) {
    const bool everywhere = std::all_of(lines.begin(), lines.end(), [&](std::string_view line) {
      return has_outside_quotes(trimmed(line), candidate);
    });
    if (everywhere) left += candidate;
  }
  if (left.size() > 1) {
    const auto shown = [](char c) {
      return c == '\t' ? std::string("a tab") : concat("'", c, "'");
    };
    std::string either = shown(left[0]);
    for (std::size_t i = 1; i < left.size(); ++i) either += concat(" or ", shown(left[i]));
    throw std::invalid_argument(concat(name, ": cannot tell whether ", either,
                                       " separates the fields of \"", excerpt(lines[0]),
                                       "\": give delimiter="));
  }
  if (left.empty() && lines.size() > 1) return guess_delimiter(name, {lines[0]});
  return left.empty() ? ' ' : left[0];
}

// A line that is neither blank nor a comment.
struct Line {
  std::string text;         // without its newline
  std::uint64_t begin = 0;  // in the input
  std::uint64_t end = 0;    // its newline included
  std::uint64_t number = 0;
};

// The encoding, if it is one whose characters take two or four bytes: by its mark, or by the zeros
// of the first characters.
const char* wide_characters(std::string_view start) {
  std::string zeros;
  for (const char c : start.substr(0, 4)) zeros += c == '\0' ? '0' : 'x';
  if (zeros == "x000" || zeros == "000x" || start.starts_with(std::string_view("\xff\xfe\0\0", 4)))
    return "UTF-32";
  const bool marked = start.starts_with("\xff\xfe") || start.starts_with("\xfe\xff");
  return marked || zeros == "x0x0" || zeros == "0x0x" ? "UTF-16" : nullptr;
}

// Reads one line after the other, and holds no more than that.
class LineReader {
 public:
  LineReader(const TextInput& input, const TextHints& hints) : input_(input), hints_(hints) {}

  // The next line of data. Throws std::invalid_argument if it, or a line before it, is no text.
  std::optional<Line> next(const std::string& comment) {
    Line line;
    while (next_line(line)) {
      if (is_data(line.text, comment)) return line;
    }
    return std::nullopt;
  }
  std::uint64_t num_lines() const { return num_lines_; }

 private:
  bool next_line(Line& line) {
    line.text.clear();
    if (at_ == 0) skip_mark();
    line.begin = at_;
    line.number = hints_.lines_before + num_lines_ + 1;
    if (at_ == input_.size()) return false;
    bool ended = false;
    while (!ended && at_ < input_.size()) {
      const std::string_view rest = held();
      const std::size_t newline = rest.find('\n');
      ended = newline != std::string_view::npos;
      const std::string_view part = rest.substr(0, newline);
      refuse_returns(part, line);
      line.text += part;
      at_ += part.size() + (ended ? 1 : 0);
      if (line.text.size() > hints_.longest_line)
        refuse_long_line(input_.name(), line.number, hints_.longest_line);
    }
    refuse_returns(line.text, line);
    line.end = at_;
    num_lines_ += ended;
    return true;
  }

  void refuse_returns(std::string_view part, const Line& line) const {
    if (has_inner_return(part)) {
      throw std::invalid_argument(
          concat(input_.name(), ": line ", line.number, ": ", kInnerReturn));
    }
  }

  void skip_mark() {
    const std::string_view start = held();
    if (start.starts_with("\xef\xbb\xbf")) at_ = 3;
    if (const char* const found = wide_characters(start)) {
      throw std::invalid_argument(concat(input_.name(), ": expected text in UTF-8, found ", found,
                                         "; write it anew first: iconv -f ", found,
                                         " -t UTF-8 old > new"));
    }
  }

  // What has been read of input[at_, size), at least a byte if there is one.
  std::string_view held() {
    if (at_ >= chunk_begin_ + chunk_.size()) {
      chunk_begin_ = at_;
      chunk_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, input_.size() - at_)));
      input_.read(chunk_, at_);
    }
    return std::string_view(chunk_).substr(static_cast<std::size_t>(at_ - chunk_begin_));
  }

  const TextInput& input_;
  const TextHints& hints_;
  std::string chunk_;
  std::uint64_t chunk_begin_ = 0;
  std::uint64_t at_ = 0;
  std::uint64_t num_lines_ = 0;
};

void refuse_zeros(const TextInput& input, const Line& line) {
  const std::size_t zero = line.text.find('\0');
  if (zero == std::string::npos) return;
  throw std::invalid_argument(concat(input.name(), ": line ", line.number,
                                     ": expected text in UTF-8, found a zero behind ", zero,
                                     " bytes of the line; is it text?"));
}

// The number of fields. Throws std::invalid_argument if they are not to be told apart.
std::size_t count_fields(const TextInput& input, const Line& line, char delimiter) {
  const LineFields fields = split_line(without_ends(line.text, delimiter), delimiter, 0);
  const auto refuse = [&](const std::string& reason) {
    throw std::invalid_argument(concat(input.name(), ": line ", line.number, ": ", reason, ": \"",
                                       excerpt(line.text), "\""));
  };
  if (fields.open_quote) refuse(kOpenQuote);
  if (fields.count > kMostColumns) {
    refuse(concat("expected at most ", kMostColumns, " columns, found ", fields.count));
  }
  return fields.count;
}

void set_header(TextFormat& format, const TextInput& input, const Line& line) {
  if (const std::string reason = not_utf8(line.text); !reason.empty())
    throw std::invalid_argument(concat(input.name(), ": line ", line.number, ": ", reason));
  format.header =
      split_line(without_ends(line.text, format.delimiter), format.delimiter, kMostColumns).fields;
  format.header_line.resize(static_cast<std::size_t>(line.end - line.begin));
  input.read(format.header_line, line.begin);
}

}  // namespace

bool is_data(std::string_view line, std::string_view comment) {
  const std::size_t start = line.find_first_not_of(" \t\r");
  return start != std::string_view::npos && comment.find(line[start]) == std::string_view::npos;
}

bool has_inner_return(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  return line.find('\r') != std::string_view::npos;
}

std::string not_utf8(std::string_view line) {
  const std::size_t good = utf8_prefix(std::as_bytes(std::span(line)));
  if (good == line.size()) return "";
  return concat("expected text in UTF-8, found the byte 0x", hex_of(line[good]), " behind ", good,
                " bytes of the line; write it anew first, such as from Latin-1: ",
                "iconv -f LATIN1 -t UTF-8 old > new");
}

LineFields split_line(std::string_view line, char delimiter, std::size_t kept) {
  LineFields found;
  found.open_quote = !for_each_field(line, delimiter, [&](std::string_view field) {
    if (found.count++ < kept) found.fields.emplace_back(field);
    return true;
  });
  return found;
}

std::string excerpt(std::string_view text) {
  std::size_t length = std::min(text.size(), kShownText);
  // Not in the middle of a character.
  while (length > 0 && length < text.size() &&
         (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80)
    --length;
  const std::string shown(text.substr(0, length));
  return text.size() > length ? shown + "…" : shown;
}

std::string TextFormat::field(const std::string& line, std::size_t column) const {
  std::string found;
  for_each_field(without_ends(line, delimiter), delimiter, [&](std::string_view field) {
    if (column == 0) found = field;
    return column-- > 0;
  });
  return found;
}

TextFormat sniff_text(const TextInput& input, const TextHints& hints) {
  TextFormat format;
  if (hints.comment) format.comment = *hints.comment;
  LineReader reader(input, hints);
  std::vector<Line> lines;
  std::vector<std::string_view> texts;
  lines.reserve(2);
  while (lines.size() < 2) {
    auto line = reader.next(format.comment);
    if (!line) break;
    texts.push_back(lines.emplace_back(std::move(*line)).text);
  }
  if (!lines.empty()) {
    refuse_zeros(input, lines[0]);
    format.delimiter = hints.delimiter ? *hints.delimiter : guess_delimiter(input.name(), texts);
    const bool has_header = hints.header.value_or(!has_number(texts[0], format.delimiter));
    count_fields(input, lines[0], format.delimiter);
    if (has_header) {
      set_header(format, input, lines[0]);
      lines.erase(lines.begin());
    }
  }
  if (lines.empty()) {
    format.data_begin = input.size();
    format.lines_before_data = hints.lines_before + reader.num_lines();
    return format;
  }
  format.num_columns = count_fields(input, lines[0], format.delimiter);
  format.data_begin = lines[0].begin;
  format.lines_before_data = lines[0].number - 1;
  format.first_line = std::move(lines[0].text);
  if (lines.size() == 2) format.second_line = std::move(lines[1].text);
  return format;
}

}  // namespace gz
