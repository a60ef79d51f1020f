// Text of edges: what it looks like, the pieces it is cut into, the numbers in its lines.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/convert/edge_converter.h"
#include "core/store/verify.h"
#include "tests/fuzz_targets/text.h"

namespace gz::fuzz {
namespace {

struct Parsed {
  std::vector<std::uint64_t> src, dst;
  std::vector<float> weight;
  std::vector<std::int64_t> time;
  std::uint64_t lines = 0;
  std::uint64_t num_bad = 0;

  bool operator==(const Parsed&) const = default;
};

// Empty where a line is so bad that it is not skipped.
std::optional<Parsed> parse(const TextInput& input, const TextFormat& format,
                            const EdgeColumns& columns, std::size_t piece_bytes,
                            std::uint64_t longest) try {
  Parsed all;
  for_each_piece(input, format.data_begin, piece_bytes, longest, [&](const TextPiece& piece) {
    ParsedEdges part;  // no room from an earlier input
    parse_edges(piece.text, format, columns, /*skip_bad=*/true, part);
    const auto append = [&](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.begin() + static_cast<std::ptrdiff_t>(part.count));
    };
    append(all.src, part.src);
    append(all.dst, part.dst);
    if (columns.weight) append(all.weight, part.weight);
    if (columns.time) append(all.time, part.time);
    all.lines += part.lines;
    all.num_bad += part.bad.count;
  });
  return all;
} catch (const BadLineError&) {
  return std::nullopt;
}

// Through the whole conversion. Ids beyond this bound are refused: a graph has a list for each.
constexpr NodeId kMostNodes = 1000;

void convert(const TextInput& input, const TextFormat& format, const EdgeColumns& columns) {
  EdgeConverterOptions options;
  options.weights = columns.weight.has_value();
  options.times = columns.time.has_value();
  options.num_src_nodes = options.num_dst_nodes = kMostNodes;
  options.memory = 32 << 20;
  options.temporary_folder = std::filesystem::temp_directory_path();
  const std::string target = options.temporary_folder + "/converted.gl";
  EdgeConverter converter(options);
  try {
    converter.add_text(input, format.data_begin, format.lines_before_data, format, columns);
  } catch (const std::invalid_argument&) {
    return;  // a bad line
  } catch (const std::out_of_range&) {
    return;  // an id beyond kMostNodes
  }
  converter.finish(target);
  VerifyProgress progress;
  for (const Check& check : verify_graph(target, progress))
    require(check.problem.empty(), "a converted graph that does not verify");
}

void read(const TextCase& text) {
  const MemoryText input("input", text.text());
  TextFormat format;
  if (!attempt([&] { format = sniff_text(input, text.hints()); })) return;
  const auto columns = text.columns(format.num_columns);
  if (!columns) return;
  const auto whole = parse(input, format, *columns, text.text().size() + 1, kAnyLength);
  require(whole == parse(input, format, *columns, text.piece_bytes(), kAnyLength),
          "pieces that hold other edges than the whole");
  parse(input, format, *columns, text.piece_bytes(), 16);
  if (!whole) return;
  for (std::size_t i = 0; i < whole->src.size(); ++i) {
    require(whole->src[i] >> 59 == 0 && whole->dst[i] >> 59 == 0, "an id of 2^59 or more");
    if (columns->weight) require(whole->weight[i] >= 0, "a weight that is negative or no number");
  }
  if (text.is_long()) convert(input, format, *columns);
}

}  // namespace
}  // namespace gz::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gz::fuzz::use_one_thread();
  if (size >= gz::fuzz::TextCase::kPrefix) gz::fuzz::read(gz::fuzz::TextCase(data, size));
  return 0;
}
