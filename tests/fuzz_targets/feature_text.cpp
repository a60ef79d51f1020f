// Text of features.
#include "core/convert/feature_text.h"

#include <array>
#include <string>
#include <vector>

#include "tests/fuzz_targets/text.h"

namespace gz::fuzz {
namespace {

// The rows of all pieces.
struct Rows {
  std::vector<std::uint8_t> items;
  std::vector<std::int64_t> ids, lines;
  std::vector<std::string> labels;
  std::uint64_t num_rows = 0, num_lines = 0, num_bad = 0;

  bool operator==(const Rows&) const = default;
};

Rows parse(const TextCase& text, std::size_t num_pieces, const FeatureTextOptions& options) {
  const FeatureText parsed = parse_features(text.text(), 0, num_pieces, options);
  Rows all;
  std::size_t room = 0;
  for (const FeatureRows& rows : parsed.pieces) {
    room += rows.items.capacity();
    all.items.insert(all.items.end(), rows.items.begin(), rows.items.end());
    all.ids.insert(all.ids.end(), rows.ids.begin(), rows.ids.end());
    all.lines.insert(all.lines.end(), rows.lines.begin(), rows.lines.end());
    const auto& [bytes, offsets] = rows.labels;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
      all.labels.emplace_back(bytes.begin() + offsets[i], bytes.begin() + offsets[i + 1]);
    all.num_rows += rows.num_rows;
  }
  // Two bytes of text make an item of eight at most; some slack, and a row for each piece.
  const std::size_t row_bytes = options.columns.size() * item_size(options.dtype);
  require(room <= 16 * text.text().size() + 2 * parsed.pieces.size() * row_bytes + 4096,
          "more room than the text can fill");
  all.num_lines = parsed.num_lines;
  all.num_bad = parsed.bad.count;
  return all;
}

void read(const TextCase& text, Dtype dtype, bool with_ids, std::optional<LabelKind> labels) {
  const MemoryText input("input", text.text());
  TextFormat format;
  if (!attempt([&] { format = sniff_text(input, text.hints()); })) return;
  if (format.num_columns < 2) return;
  FeatureTextOptions options;
  options.name = "input";
  options.delimiter = format.delimiter;
  options.num_columns = format.num_columns;
  options.dtype = dtype;
  if (with_ids) options.id_column = 1;
  options.id_labels = labels;
  for (std::size_t column = 0; column < format.num_columns; ++column)
    if (column != options.id_column && column % 5 != 4) options.columns.push_back(column);

  for (const bool skip_bad_lines : {false, true}) {
    options.skip_bad_lines = skip_bad_lines;
    Rows whole, pieces;
    const bool done = attempt([&] { whole = parse(text, 1, options); });
    require(done == attempt([&] { pieces = parse(text, text.piece_bytes(), options); }),
            "pieces that fail where the whole does not, or the other way round");
    if (!done) continue;
    require(whole == pieces, "pieces that hold other rows than the whole");
    require(whole.items.size() == whole.num_rows * options.columns.size() * item_size(dtype),
            "rows of another size");
    const bool has_text = with_ids && labels == LabelKind::kString;
    require(whole.ids.size() == (with_ids && !has_text ? whole.num_rows : 0),
            "another number of ids");
    require(whole.labels.size() == (has_text ? whole.num_rows : 0), "another number of labels");
    for (const std::string& label : whole.labels)
      require(!label.empty() && not_utf8(label).empty(), "a label that is none");
    if (labels) continue;
    for (const std::int64_t id : whole.ids) require(id >= 0 && id >> 59 == 0, "an id out of range");
  }
}

}  // namespace
}  // namespace gz::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using gz::Dtype;
  constexpr std::array kDtypes = {Dtype::kFloat32, Dtype::kFloat64, Dtype::kInt8,  Dtype::kInt16,
                                  Dtype::kInt32,   Dtype::kInt64,   Dtype::kUint8, Dtype::kBool};
  gz::fuzz::use_one_thread();
  if (size <= gz::fuzz::TextCase::kPrefix) return 0;
  const gz::fuzz::TextCase text(data + 1, size - 1);
  std::optional<gz::LabelKind> labels;
  if ((data[0] & 16) != 0) {
    labels = (data[0] & 32) != 0 ? gz::LabelKind::kString : gz::LabelKind::kInteger;
  }
  gz::fuzz::read(text, kDtypes[data[0] % kDtypes.size()], (data[0] & 8) != 0, labels);
  return 0;
}
