#include "core/convert/text_labels.h"

#include <cstring>

#include "core/base/error.h"

namespace gz {
namespace {

constexpr std::size_t kPiece = 1 << 20;

void append(LabelColumn& all, const LabelColumn& part) {
  const auto base = static_cast<std::int64_t>(all.bytes.size());
  all.bytes.insert(all.bytes.end(), part.bytes.begin(), part.bytes.end());
  for (std::size_t i = 1; i < part.offsets.size(); ++i)
    all.offsets.push_back(base + part.offsets[i]);
}

class LabelParser {
 public:
  LabelParser(const TextFormat& format, const EdgeColumns& columns, bool skip_bad,
              TextLabelledEdges& out)
      : format_(format), columns_(columns), skip_bad_(skip_bad), out_(out) {}

  void run(std::string_view text) {
    while (!text.empty()) {
      const std::size_t newline = text.find('\n');
      std::string_view line = text.substr(0, newline);
      text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
      ++out_.lines;
      while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      parse(line);
    }
  }

 private:
  void parse(std::string_view line) {
    if (has_inner_return(line)) return refuse(line, kInnerReturn);
    if (!is_data(line, format_.comment)) return;
    // Two plain fields without quotes or blanks need no copies.
    if (format_.num_columns == 2 && line.find_first_of("\" \t") == std::string_view::npos &&
        format_.delimiter != ' ') {
      const std::size_t at = line.find(format_.delimiter);
      if (at != std::string_view::npos &&
          line.find(format_.delimiter, at + 1) == std::string_view::npos && at > 0 &&
          at + 1 < line.size()) {
        if (std::string reason = not_utf8(line); !reason.empty())
          return refuse(line, std::move(reason));
        const std::string_view fields[2] = {line.substr(0, at), line.substr(at + 1)};
        add(fields[columns_.src], fields[columns_.dst]);
        return;
      }
    }
    parse_slowly(line);
  }

  void parse_slowly(std::string_view line) {
    const auto [fields, count, open_quote] =
        split_line(line, format_.delimiter, format_.num_columns);
    if (open_quote) out_.bad.refuse(out_.lines, line, kOpenQuote, /*skip=*/false);
    if (count != format_.num_columns) {
      refuse(line, concat("expected ", format_.num_columns, " columns, found ", count));
      return;
    }
    std::string reason;
    for (const std::size_t column : {columns_.src, columns_.dst}) {
      if (fields[column].empty() && reason.empty())
        reason = "expected a label, found an empty field";
      if (reason.empty() && !not_utf8(fields[column]).empty()) reason = not_utf8(line);
    }
    const float weight = columns_.weight ? parse_weight(fields[*columns_.weight], reason) : 0;
    const std::int64_t time =
        columns_.time ? parse_time(fields[*columns_.time], columns_, reason) : 0;
    if (!reason.empty()) {
      refuse(line, std::move(reason));
      return;
    }
    add(fields[columns_.src], fields[columns_.dst]);
    if (columns_.weight) out_.weight.push_back(weight);
    if (columns_.time) out_.time.push_back(time);
  }

  void add(std::string_view src, std::string_view dst) {
    append_label(out_.src, src);
    append_label(out_.dst, dst);
    if (columns_.row_lines) out_.row_lines.push_back(static_cast<std::int64_t>(out_.lines));
  }

  void refuse(std::string_view line, std::string reason) {
    out_.bad.refuse(out_.lines, line, std::move(reason), skip_bad_);
  }

  const TextFormat& format_;
  const EdgeColumns& columns_;
  const bool skip_bad_;
  TextLabelledEdges& out_;
};

void append(std::vector<std::int64_t>& all, const std::vector<std::int64_t>& part) {
  all.insert(all.end(), part.begin(), part.end());
}

// Runs parse(text, edges) on every piece and joins what it gives in the order of the text.
template <class Edges, class Parse>
Edges parse_in_order(const TextInput& input, std::uint64_t begin, std::uint64_t lines_before,
                     Parse parse) {
  Edges all;
  OrderedGate gate;
  for_each_piece(input, begin, kPiece, kAnyLength, [&](const TextPiece& piece) {
    Edges part;
    std::optional<BadLine> failed;
    try {
      parse(piece.text, part);
    } catch (BadLineError& error) {
      failed = std::move(error.bad);
    } catch (...) {
      gate.abandon(piece.index);
      throw;
    }
    gate.wait(piece.index);
    if (failed) {
      gate.abandon(piece.index);
      failed->line += lines_before + all.lines;
      refuse_line(input.name(), *failed);
    }
    all.bad.join(std::move(part.bad), lines_before + all.lines);
    append(all.src, part.src);
    append(all.dst, part.dst);
    all.weight.insert(all.weight.end(), part.weight.begin(), part.weight.end());
    all.time.insert(all.time.end(), part.time.begin(), part.time.end());
    for (const std::int64_t line : part.row_lines)
      all.row_lines.push_back(line + static_cast<std::int64_t>(lines_before + all.lines));
    all.lines += part.lines;
    gate.pass(piece.index);
  });
  return all;
}

}  // namespace

void append_label(LabelColumn& column, std::string_view label) {
  column.bytes.insert(column.bytes.end(), label.begin(), label.end());
  column.offsets.push_back(static_cast<std::int64_t>(column.bytes.size()));
}

TextLabelledEdges parse_text_labels(const TextInput& input, std::uint64_t begin,
                                    std::uint64_t lines_before, const TextFormat& format,
                                    const EdgeColumns& columns, bool skip_bad) {
  return parse_in_order<TextLabelledEdges>(input, begin, lines_before,
                                           [&](std::string_view text, TextLabelledEdges& out) {
                                             LabelParser(format, columns, skip_bad, out).run(text);
                                           });
}

IntegerLabelledEdges parse_integer_labels(const TextInput& input, std::uint64_t begin,
                                          std::uint64_t lines_before, const TextFormat& format,
                                          const EdgeColumns& columns, bool skip_bad) {
  return parse_in_order<IntegerLabelledEdges>(
      input, begin, lines_before, [&](std::string_view text, IntegerLabelledEdges& out) {
        static thread_local ParsedEdges edges;
        parse_edges(text, format, columns, skip_bad, edges);
        const auto count = static_cast<std::ptrdiff_t>(edges.count);
        out.src.assign(edges.src.begin(), edges.src.begin() + count);
        out.dst.assign(edges.dst.begin(), edges.dst.begin() + count);
        if (columns.weight) out.weight.assign(edges.weight.begin(), edges.weight.begin() + count);
        if (columns.time) out.time.assign(edges.time.begin(), edges.time.begin() + count);
        if (columns.row_lines)
          out.row_lines.assign(edges.row_lines.begin(), edges.row_lines.begin() + count);
        out.lines = edges.lines;
        out.bad = edges.bad;
      });
}

}  // namespace gz
