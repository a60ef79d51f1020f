// The first bytes of an input say how the text behind them is read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/convert/text_edges.h"
#include "core/convert/text_format.h"
#include "tests/fuzz_targets/fuzz.h"

namespace gz::fuzz {

class TextCase {
 public:
  static constexpr std::size_t kPrefix = 2;

  TextCase(const std::uint8_t* data, std::size_t size)
      : how_(data[0]),
        more_(data[1]),
        text_(reinterpret_cast<const char*>(data) + kPrefix, size - kPrefix) {}

  std::string_view text() const { return text_; }

  TextHints hints() const {
    constexpr std::array kDelimiters = {',', '\t', ';', '|', ' ', ':', '"'};
    TextHints hints;
    if ((how_ & 7) != 0) hints.delimiter = kDelimiters[(how_ & 7) - 1U];
    if ((how_ & 8) != 0) hints.header = (how_ & 16) != 0;
    if ((how_ & 32) != 0) hints.comment = "";
    return hints;
  }

  // As the bindings are told: different columns, all of them there.
  std::optional<EdgeColumns> columns(std::size_t num_columns) const {
    if (num_columns < 2) return std::nullopt;
    EdgeColumns columns;
    if ((more_ & 64) != 0) std::swap(columns.src, columns.dst);
    if ((how_ & 64) != 0 && num_columns > 2) columns.weight = 2;
    if ((how_ & 128) != 0 && num_columns > 3) columns.time = 3;
    if ((more_ & 1) != 0) columns.iso_times = static_cast<TimeUnit>(more_ >> 1 & 3);
    columns.row_lines = (more_ & 8) != 0;
    return columns;
  }

  std::size_t piece_bytes() const { return (more_ & 63U) + 1U; }
  bool is_long() const { return (more_ & 128) != 0; }

 private:
  std::uint8_t how_;
  std::uint8_t more_;
  std::string_view text_;
};

}  // namespace gz::fuzz
