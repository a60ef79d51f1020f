#include "core/convert/text_format.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

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

char guess_delimiter(std::string_view line) {
  for (const char candidate : {',', '\t', ';'}) {
    if (line.find(candidate) != std::string_view::npos) return candidate;
  }
  return ' ';
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
      for (++at; at < line.size(); ++at) {
        if (line[at] == '"') {
          if (at + 1 >= line.size() || line[at + 1] != '"') break;
          ++at;
        }
        field += line[at];
      }
      while (at < line.size() && !at_delimiter()) ++at;
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

// Empty if the line it needs to see whole goes beyond the sample.
std::optional<TextFormat> sniff_sample(const TextInput& input, const TextHints& hints,
                                       std::uint64_t sample_size) {
  TextFormat format;
  if (hints.comment) format.comment = *hints.comment;
  std::string sample(static_cast<std::size_t>(std::min(sample_size, input.size())), '\0');
  input.read(sample, 0);
  std::string_view rest = sample;
  if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);

  bool seen_header = false;
  while (!rest.empty()) {
    const std::size_t newline = rest.find('\n');
    if (newline == std::string_view::npos && sample.size() < input.size()) return std::nullopt;
    const std::string_view line = rest.substr(0, newline);
    const std::string_view content = trimmed(line);
    const bool is_comment =
        content.empty() || format.comment.find(content.front()) != std::string::npos;
    if (!is_comment) {
      format.delimiter = hints.delimiter.value_or(guess_delimiter(content));
      // A tab at either end of a line sets off an empty field.
      const auto fields =
          split_line(format.delimiter == '\t' ? without_return(line) : content, format.delimiter);
      const bool looks_like_header = std::none_of(fields.begin(), fields.end(), is_number);
      if (seen_header || !hints.header.value_or(looks_like_header)) {
        format.num_columns = fields.size();
        format.first_line = fields;
        format.header_in_doubt = seen_header && !hints.header && looks_like_header;
        break;
      }
      format.header = fields;
      seen_header = true;
    }
    if (newline == std::string_view::npos) {
      rest = {};
    } else {
      rest.remove_prefix(newline + 1);
      ++format.lines_before_data;
    }
  }
  if (rest.empty() && sample.size() < input.size()) return std::nullopt;
  if (format.num_columns == 0) format.header_in_doubt = seen_header && !hints.header;
  format.data_begin = sample.size() - rest.size();
  return format;
}

}  // namespace

TextFormat sniff_text(const TextInput& input, const TextHints& hints) {
  for (std::uint64_t sample_size = kSample;; sample_size *= 4) {
    if (const auto format = sniff_sample(input, hints, sample_size)) return *format;
  }
}

}  // namespace gz
