// What a text table looks like: its delimiter, its header, where its data begins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/convert/text_pieces.h"

namespace gz {

// A delimiter of ' ' stands for any run of spaces and tabs.
struct TextFormat {
  char delimiter = ',';
  std::string comment = "#%";           // a line that starts with one of these is no data
  std::vector<std::string> header;      // column names; empty if there is no header line
  bool header_in_doubt = false;         // nothing proves that the first line is one, or is none
  std::uint64_t data_begin = 0;         // behind byte-order mark, leading comments and header
  std::uint64_t lines_before_data = 0;  // for line numbers in errors
  std::size_t num_columns = 0;          // of the first line of data; 0 if there is none
  std::vector<std::string> first_line;  // its fields
};

// What the caller knows already; the rest is guessed from the first lines.
struct TextHints {
  std::optional<char> delimiter;
  std::optional<bool> header;
  std::optional<std::string> comment;
};

// Looks at the first 256 kB, or as far as it takes to see two lines of data. The delimiter is the
// one of comma, tab, semicolon, bar and blanks that leaves numbers between them, else the only one
// there is. A first line that is no number in any column is a header. Throws std::invalid_argument
// if several delimiters may be meant, if a carriage return stands inside a line, and for UTF-16.
TextFormat sniff_text(const TextInput& input, const TextHints& hints);

// Whether a carriage return stands inside a line: what old Macs ended lines with. Those before its
// line feed belong to that.
bool has_inner_return(std::string_view line);
inline constexpr const char* kInnerReturn =
    "expected lines that end with a line feed, found a carriage return alone; replace them first: "
    "tr '\\r' '\\n' < old > new";

// The fields of one line, without its line end; quotes around a whole field are taken off, and a
// doubled quote inside them is one. For headers and errors: data is parsed by faster code.
std::vector<std::string> split_line(std::string_view line, char delimiter);

}  // namespace gz
