// Text of edges between labels, and the dictionary that is made of them.
#include "core/convert/text_labels.h"

#include <filesystem>
#include <string>
#include <vector>

#include "core/convert/id_builder.h"
#include "core/store/id_dictionary.h"
#include "tests/fuzz_targets/text.h"

namespace gz::fuzz {
namespace {

std::size_t size_of(const LabelColumn& column) { return column.offsets.size() - 1; }
std::size_t size_of(const std::vector<std::int64_t>& column) { return column.size(); }

template <class Edges>
void require_columns(const Edges& edges, const EdgeColumns& columns) {
  const std::size_t count = size_of(edges.src);
  require(size_of(edges.dst) == count, "columns of different lengths");
  require(edges.weight.size() == (columns.weight ? count : 0), "another number of weights");
  require(edges.time.size() == (columns.time ? count : 0), "another number of times");
  require(edges.lines >= count + edges.bad.count, "more edges than lines");
  require(edges.row_lines.size() == (columns.row_lines ? count : 0), "another number of lines");
}

StringLabels labels_of(const LabelColumn& column) {
  return {std::as_bytes(std::span(column.bytes)), column.offsets};
}

void build_dictionary(const LabelColumn& column) {
  const std::string folder = std::filesystem::temp_directory_path();
  const std::string target = folder + "/labels.gi";
  IdBuilderOptions options;
  options.kind = LabelKind::kString;
  options.memory = 1 << 20;
  options.tmp_dir = folder;
  const StringLabels labels = labels_of(column);
  attempt([&] {  // text that is no UTF-8 is refused
    IdBuilder builder(target, options);
    builder.add(labels);
    builder.finish();
    const IdDictionary dictionary(target);
    std::vector<NodeId> ids(labels.size());
    dictionary.find(labels, ids);
    for (const NodeId id : ids) require(id != kUnknownLabel, "a label that was added is not there");
  });
}

void read(const TextCase& text) {
  const MemoryText input("input", text.text());
  TextFormat format;
  if (!attempt([&] { format = sniff_text(input, text.hints()); })) return;
  const auto columns = text.columns(format.num_columns);
  if (!columns) return;
  for (const bool skip_bad : {false, true}) {
    attempt([&] {
      const auto edges = parse_text_labels(input, format.data_begin, format.lines_before_data,
                                           format, *columns, skip_bad);
      require_columns(edges, *columns);
      check_offsets(labels_of(edges.src));
      check_offsets(labels_of(edges.dst));
      if (skip_bad && text.is_long()) build_dictionary(edges.src);
    });
    attempt([&] {
      require_columns(parse_integer_labels(input, format.data_begin, format.lines_before_data,
                                           format, *columns, skip_bad),
                      *columns);
    });
  }
}

}  // namespace
}  // namespace gz::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gz::fuzz::use_one_thread();
  if (size >= gz::fuzz::TextCase::kPrefix) gz::fuzz::read(gz::fuzz::TextCase(data, size));
  return 0;
}
