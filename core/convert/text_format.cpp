#include "core/convert/text_format.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>

#include "core/base/error.h"

namespace gz {
namespace {

constexpr std::uint64_t kSample = 256 << 10;

bool is_blank(char c) { return c == ' ' || c == '\t'; }

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
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  // Out of range is a number too, only a large one.
  return end == field.data() + field.size() && !field.empty() &&
         error != std::errc::invalid_argument;
}

}  // namespace

std::vector<std::string> split_line(std::string_view line, char delimiter) {
  std::vector<std::string> fields;
  std::size_t at = 0;
  const auto at_delimiter = [&] {
    return delimiter == ' ' ? is_blank(line[at]) : line[at] == delimiter;
  };
  if (delimiter == ' ') line = trimmed(line);
  while (true) {
    while (at < line.size() && is_blank(line[at]) && line[at] != delimiter) ++at;
    std::string field;
    if (at < line.size() && line[at] == '"') {
      const std::size_t begin = at;
      bool closed = false;
      for (++at; at < line.size() && !closed; ++at) {
        if (line[at] == '"' && (at + 1 >= line.size() || line[at + 1] != '"')) {
          closed = true;
          continue;
        }
        if (line[at] == '"') ++at;
        field += line[at];
      }
      const std::size_t end = at;
      while (at < line.size() && !at_delimiter()) ++at;
      // With something behind the quotes, or no end to them, it is no quoted field.
      if (!closed || !trimmed(line.substr(end, at - end)).empty())
        field = trimmed(line.substr(begin, at - begin));
    } else {
      const std::size_t begin = at;
      while (at < line.size() && !at_delimiter()) ++at;
      field = trimmed(line.substr(begin, at - begin));
    }
    fields.push_back(std::move(field));
    if (at >= line.size()) return fields;
    ++at;
    if (delimiter == ' ') {
      while (at < line.size() && is_blank(line[at])) ++at;
    }
  }
}

namespace {

// A number, also one with a decimal comma where that cannot stand between fields: such a field is
// refused later, but it is no text.
bool is_like_number(const std::string& field, char delimiter) {
  if (is_number(field)) return true;
  const std::size_t comma = field.find(',');
  if (delimiter == ',' || comma == std::string::npos) return false;
  std::string with_point = field;
  with_point[comma] = '.';
  return is_number(with_point);
}

bool has_outside_quotes(std::string_view line, char wanted) {
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (wanted == ' ' ? is_blank(c) : c == wanted)) return true;
  }
  return false;
}

std::vector<std::string> fields_of(std::string_view line, char delimiter) {
  // A tab at either end of a line sets off an empty field.
  return split_line(delimiter == '\t' ? without_return(line) : trimmed(line), delimiter);
}

// All fields are numbers, or missing.
bool is_all_numbers(std::string_view line, char delimiter) {
  const auto fields = fields_of(line, delimiter);
  std::size_t numbers = 0;
  for (const std::string& field : fields) {
    if (!field.empty() && !is_like_number(field, delimiter)) return false;
    if (!field.empty()) ++numbers;
  }
  return fields.size() > 1 && numbers > 0;
}

bool starts_with_two_numbers(std::string_view line, char delimiter) {
  const auto fields = fields_of(line, delimiter);
  return fields.size() > 1 && is_number(fields[0]) && is_number(fields[1]);
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
                                       " separates the fields of \"", lines[0].substr(0, 80),
                                       "\": give delimiter="));
  }
  if (left.empty() && lines.size() > 1) return guess_delimiter(name, {lines[0]});
  return left.empty() ? ' ' : left[0];
}

void refuse_wide_characters(const std::string& name, std::string_view text) {
  const bool marked = text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
  const bool zeros = text.size() > 1 && (text[0] == '\0') != (text[1] == '\0');
  if (marked || zeros) {
    throw std::invalid_argument(
        concat(name,
               ": expected text in UTF-8, found UTF-16; write it anew first: iconv -f UTF-16 "
               "-t UTF-8 old > new"));
  }
}

// A line that is neither blank nor a comment.
struct Line {
  std::string_view text;
  std::uint64_t offset;  // in the input
  std::uint64_t number;  // of lines before it
};

// The first two lines of the sample, or as many as there are. Empty if they go beyond the sample.
std::optional<std::vector<Line>> first_lines(const TextInput& input, std::string_view sample,
                                             const std::string& comment, std::uint64_t& num_lines) {
  std::vector<Line> found;
  const bool is_whole = sample.size() == input.size();
  std::string_view rest = sample;
  if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
  num_lines = 0;
  while (!rest.empty() && found.size() < 2) {
    const std::size_t newline = rest.find('\n');
    const std::string_view line = rest.substr(0, newline);
    if (has_inner_return(line)) {
      throw std::invalid_argument(
          concat(input.name(), ": line ", num_lines + 1, ": ", kInnerReturn));
    }
    if (newline == std::string_view::npos && !is_whole) return std::nullopt;
    const std::string_view content = trimmed(line);
    if (!content.empty() && comment.find(content.front()) == std::string::npos)
      found.push_back({line, sample.size() - rest.size(), num_lines});
    rest.remove_prefix(newline == std::string_view::npos ? rest.size() : newline + 1);
    if (newline != std::string_view::npos) ++num_lines;
  }
  if (found.size() < 2 && !is_whole) return std::nullopt;
  return found;
}

// Empty if the lines it needs to see whole go beyond the sample.
std::optional<TextFormat> sniff_sample(const TextInput& input, const TextHints& hints,
                                       std::uint64_t sample_size) {
  TextFormat format;
  if (hints.comment) format.comment = *hints.comment;
  std::string sample(static_cast<std::size_t>(std::min(sample_size, input.size())), '\0');
  input.read(sample, 0);
  refuse_wide_characters(input.name(), sample);
  std::uint64_t num_lines = 0;
  const auto lines = first_lines(input, sample, format.comment, num_lines);
  if (!lines) return std::nullopt;
  if (lines->empty()) {
    format.data_begin = sample.size();
    format.lines_before_data = num_lines;
    return format;
  }
  std::vector<std::string_view> texts;
  for (const Line& line : *lines) texts.push_back(line.text);
  format.delimiter = hints.delimiter ? *hints.delimiter : guess_delimiter(input.name(), texts);
  const auto number = [&](const std::string& field) {
    return is_like_number(field, format.delimiter);
  };
  const auto first = fields_of(texts[0], format.delimiter);
  const bool looks_like_header = std::none_of(first.begin(), first.end(), number);
  const bool has_header = hints.header.value_or(looks_like_header);
  if (has_header) format.header = first;
  if (has_header && lines->size() == 1) {
    format.header_in_doubt = !hints.header;
    format.data_begin = sample.size();
    format.lines_before_data = num_lines;
    return format;
  }
  const Line& data = (*lines)[has_header ? 1 : 0];
  format.first_line = fields_of(data.text, format.delimiter);
  format.num_columns = format.first_line.size();
  format.data_begin = data.offset;
  format.lines_before_data = data.number;
  if (!hints.header && has_header) {
    format.header_in_doubt =
        std::none_of(format.first_line.begin(), format.first_line.end(), number);
  } else if (!hints.header && lines->size() == 2) {
    const auto second = fields_of(texts[1], format.delimiter);
    for (std::size_t i = 0; i < std::min({first.size(), second.size(), std::size_t{2}}); ++i) {
      if (!first[i].empty() && !number(first[i]) && number(second[i]))
        format.header_in_doubt = true;
    }
  }
  return format;
}

}  // namespace

bool has_inner_return(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  return line.find('\r') != std::string_view::npos;
}

TextFormat sniff_text(const TextInput& input, const TextHints& hints) {
  for (std::uint64_t sample_size = kSample;; sample_size *= 4) {
    if (const auto format = sniff_sample(input, hints, sample_size)) return *format;
  }
}

}  // namespace gz
