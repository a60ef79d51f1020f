// What a text table looks like: its delimiter, its header, where its data begins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/convert/text_pieces.h"

namespace gz {

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

// A delimiter of ' ' stands for any run of spaces and tabs.
inline bool is_delimiter(char c, char delimiter) {
  return delimiter == ' ' ? is_blank(c) : c == delimiter;
}

struct TextFormat {
  char delimiter = ',';
  std::string comment = "#%";           // a line that starts with one of these is no data
  std::vector<std::string> header;      // column names; empty if there is no header line
  std::string header_line;              // as it stands there, with its newline
  std::uint64_t data_begin = 0;         // behind byte-order mark, leading comments and header
  std::uint64_t lines_before_data = 0;  // for line numbers in errors
  std::size_t num_columns = 0;          // of the first line of data; 0 if there is none
  std::string first_line, second_line;  // of data; the second one only if there is no header

  // The field of one of these lines, or nothing if it has fewer.
  std::string field(const std::string& line, std::size_t column) const;
};

// What the caller knows already; the rest is guessed from the first lines.
struct TextHints {
  std::optional<char> delimiter;
  std::optional<bool> header;
  std::optional<std::string> comment;
  std::uint64_t lines_before = 0;  // that stand before the text, which is then part of one
  std::uint64_t longest_line = kAnyLength;
};

inline constexpr std::size_t kMostColumns = 1 << 20;

// Looks at the first two lines of data. The delimiter is the one of comma, tab, semicolon, bar and
// blanks that leaves numbers between them, else the only one there is. A first line that is no
// number in any column is taken for a header; whether that is certain depends on which columns are
// meant, so whoever knows them has to ask. Throws std::invalid_argument if several delimiters may
// be meant, if one of the lines does not end as a line should, and if they are no UTF-8.
TextFormat sniff_text(const TextInput& input, const TextHints& hints);

// Whether a line is neither blank nor a comment.
bool is_data(std::string_view line, std::string_view comment);

// Whether a carriage return stands inside a line: what old Macs ended lines with. Those before its
// line feed belong to that.
bool has_inner_return(std::string_view line);
inline constexpr const char* kInnerReturn =
    "expected lines that end with a line feed, found a carriage return alone; replace them first: "
    "tr '\\r' '\\n' < old > new";

// What is wrong with a line that is no UTF-8; empty if it is.
std::string not_utf8(std::string_view line);

// Pieces are cut at line feeds, whatever stands before them, so no field may hold one.
inline constexpr const char* kOpenQuote =
    "expected a quote that closes in its line, found one that stays open: a line break inside a "
    "field? Take it out first; a quote that is part of a field is written twice, between quotes";

struct LineFields {
  std::vector<std::string> fields;  // the first of them, as many as were asked for
  std::size_t count = 0;
  bool open_quote = false;  // a quote that opens a field does not close: the fields mean nothing
};

// The fields of one line, without its line end; quotes around a whole field are taken off, and a
// doubled quote inside them is one. For headers and errors: data is parsed by faster code.
LineFields split_line(std::string_view line, char delimiter, std::size_t kept);

// A part of a text as a message can show it: not too long, and without NUL, which would end it.
std::string excerpt(std::string_view text);

}  // namespace gz
