// Lines of text in, columns of edges out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/convert/iso_time.h"
#include "core/convert/text_format.h"

namespace gz {

// Which column of the text holds what, from 0.
struct EdgeColumns {
  std::size_t src = 0;
  std::size_t dst = 1;
  std::optional<std::size_t> weight;
  std::optional<std::size_t> time;
  std::optional<TimeUnit> iso_times;  // times are ISO 8601, stored in this unit; else integers
  bool row_lines = false;             // keep the line of each edge
};

// A line that is no data, by its number in its file, from 1.
struct BadLine {
  std::uint64_t line = 0;
  std::string text;    // an excerpt()
  std::string reason;  // what was expected, what found
};

inline constexpr std::size_t kMaxBadLines = 100;  // that are kept; the others are counted

// The bad lines of a text, or of a part of it.
struct BadLines {
  std::uint64_t count = 0;
  std::vector<BadLine> first;  // kMaxBadLines of them at most

  // Throws BadLineError unless bad lines are skipped.
  void refuse(std::uint64_t line, std::string_view text, std::string reason, bool skip);
  // Adds those of the next part, which begins behind `lines_before` lines.
  void join(BadLines&& part, std::uint64_t lines_before);
};

// A weight or time as a user may write it; `reason` is set to what is wrong unless it is set
// already.
float parse_weight(const std::string& field, std::string& reason);
std::int64_t parse_time(const std::string& field, const EdgeColumns& columns, std::string& reason);

// What to say behind a field that would be a number if its comma were a point; empty if it would
// not.
std::string decimal_comma_hint(const std::string& field);

// The error of a bad line: file, line number, reason, text.
[[noreturn]] void refuse_line(const std::string& name, const BadLine& bad);

// Thrown for the first bad line where bad lines are errors, and always for a quote that stays open,
// because the lines behind it are none; its number counts within the piece.
struct BadLineError : std::runtime_error {
  explicit BadLineError(BadLine bad) : std::runtime_error(bad.reason), bad(std::move(bad)) {}
  BadLine bad;
};

// Columns of edges. Made once per thread and filled again for each piece, so that memory is not
// given back and asked for all the time. The vectors are longer than `count`.
struct ParsedEdges {
  std::size_t count = 0;
  std::vector<std::uint64_t> src;
  std::vector<std::uint64_t> dst;
  std::vector<float> weight;
  std::vector<std::int64_t> time;
  std::vector<std::int64_t> row_lines;  // from 1, within the piece; if the columns ask for them
  std::uint64_t lines = 0;              // blank ones and comments included
  BadLines bad;
};

// Parses whole lines; kReadableBeyond bytes behind `text` must be readable. Ids are below 2^59,
// weights finite and not negative. Throws BadLineError, unless `skip_bad`.
void parse_edges(std::string_view text, const TextFormat& format, const EdgeColumns& columns,
                 bool skip_bad, ParsedEdges& out);

}  // namespace gz
