// Lines of text in, rows of numbers out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/types.h"
#include "core/convert/text_labels.h"
#include "core/format/gi.h"

namespace gz {

struct FeatureTextOptions {
  std::string name;  // opens error messages
  char delimiter = ',';
  std::string comment = "#%";
  std::size_t num_columns = 0;           // fields that each line must have
  std::vector<std::size_t> columns;      // fields that make a row, each at most once, in order
  std::optional<std::size_t> id_column;  // the field that says which row it is
  std::optional<LabelKind> id_labels;    // it holds labels of this kind, not numbers of rows
  Dtype dtype = Dtype::kFloat32;         // anything but float16 and bfloat16
  bool skip_bad_lines = false;
};

// The rows of one piece of text.
struct FeatureRows {
  std::size_t num_rows = 0;
  std::vector<std::uint8_t> items;  // row by row, in the dtype asked for
  std::vector<std::int64_t> ids;    // one per row; empty without an id column of integers
  LabelColumn labels;               // one per row, if the id column holds text
  std::vector<std::int64_t> lines;  // where each row stands; empty without an id column
};

struct FeatureText {
  std::vector<FeatureRows> pieces;  // in the order of the text
  std::uint64_t num_lines = 0;      // blank ones and comments included
  BadLines bad;
};

// Parses whole lines in at most `num_pieces` pieces at the same time. `lines_before` is the number
// of lines before `text`, for errors. A number is rounded once, to the nearest; one that overflows
// its type, or is no integer where one is asked for, makes a bad line. Ids are below 2^59, labels
// any int64 or any text that is UTF-8 and not empty. Throws FormatError for the first
// bad line unless they are skipped.
FeatureText parse_features(std::string_view text, std::uint64_t lines_before,
                           std::size_t num_pieces, const FeatureTextOptions& options);

}  // namespace gz
