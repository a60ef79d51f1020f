// Lines of text in, labels of both ends of each edge out: for ids that are not dense integers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/convert/text_edges.h"

namespace gz {

// Label i is bytes[offsets[i], offsets[i + 1]).
struct LabelColumn {
  std::vector<std::uint8_t> bytes;
  std::vector<std::int64_t> offsets{0};
};

void append_label(LabelColumn& column, std::string_view label);

// Labels are text, or integers from 0 to 2^59 - 1.
template <class Column>
struct LabelledEdges {
  Column src;
  Column dst;
  std::vector<float> weight;
  std::vector<std::int64_t> time;
  std::vector<std::int64_t> row_lines;  // in the file, from 1; if the columns ask for them
  std::uint64_t lines = 0;
  BadLines bad;
};

using TextLabelledEdges = LabelledEdges<LabelColumn>;
using IntegerLabelledEdges = LabelledEdges<std::vector<std::int64_t>>;

// Both parse text[begin, size) on all threads, in order; `lines_before` lines come before it. Text
// labels are not empty. Throw std::invalid_argument naming file, line and text of a bad line unless
// `skip_bad`.
TextLabelledEdges parse_text_labels(const TextInput& input, std::uint64_t begin,
                                    std::uint64_t lines_before, const TextFormat& format,
                                    const EdgeColumns& columns, bool skip_bad);
IntegerLabelledEdges parse_integer_labels(const TextInput& input, std::uint64_t begin,
                                          std::uint64_t lines_before, const TextFormat& format,
                                          const EdgeColumns& columns, bool skip_bad);

}  // namespace gz
