// Writes the small files that the targets start from: fuzz_seeds FOLDER.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/convert/edge_converter.h"
#include "core/convert/id_builder.h"
#include "core/format/gd_writer.h"
#include "core/format/gl_writer.h"
#include "core/format/row_places.h"

namespace gz {
namespace {

using namespace std::string_literals;

class Folder {
 public:
  Folder(const std::string& parent, const std::string& target) : path_(parent + "/" + target) {
    std::filesystem::create_directories(path_);
  }

  std::string next() { return path_ + "/seed" + std::to_string(count_++); }
  void write(std::string_view content) {
    std::ofstream(next(), std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
  }

 private:
  std::string path_;
  int count_ = 0;
};

// Node 0 has half of the edges, the others a few each.
struct Edges {
  explicit Edges(std::size_t count, NodeId num_nodes) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto number = static_cast<NodeId>(i);
      src.push_back(i % 2 == 0 ? 0 : number * 7 % num_nodes);
      dst.push_back(number * 5 % num_nodes);
      weight.push_back(static_cast<float>(i % 11) / 4);
      time.push_back(number * 3 % 17);
    }
  }
  std::vector<NodeId> src, dst;
  std::vector<float> weight;
  std::vector<std::int64_t> time;
};

void write_graphs(Folder folder) {
  for (const std::size_t count : {6u, 30u, 700u}) {
    const Edges edges(count, 9);
    for (const unsigned kind : {0u, 1u, 2u, 3u}) {
      EdgeConverterOptions columns;
      columns.weights = (kind & 1) != 0;
      columns.times = (kind & 2) != 0;
      const auto write = [&](const EdgeConverterOptions& options) {
        EdgeConverter converter(options);
        converter.add_edges(edges.src, edges.dst,
                            options.weights ? edges.weight : std::span<const float>(),
                            options.times ? edges.time : std::span<const std::int64_t>());
        converter.finish(folder.next());
      };
      for (const unsigned shape : {0u, 1u, 2u, 3u}) {
        EdgeConverterOptions options = columns;
        options.num_src_nodes = options.num_dst_nodes = 10;
        options.directed = shape != 1;
        options.out_index = shape != 2;
        options.bipartite = shape == 3;
        if (options.bipartite) options.num_dst_nodes = 12;
        write(options);
      }
      // Ids of eight bytes, and more destinations than any table can have.
      EdgeConverterOptions wide = columns;
      wide.bipartite = true;
      wide.num_src_nodes = 10;
      wide.num_dst_nodes = NodeId{1} << 40;
      wide.in_index = false;
      write(wide);
    }
  }
  EdgeConverter({}).finish(folder.next());

  // Edge ids of eight bytes.
  GlWriter writer(folder.next());
  const std::vector<std::int64_t> indptr = {0, 2, 3}, edge_ids = {2, 0, 1};
  const std::vector<std::int32_t> indices = {0, 1, 1};
  writer.begin(Direction::kOut, GlRole::kIndptr, Dtype::kInt64);
  writer.append(std::span(indptr));
  writer.end();
  writer.begin(Direction::kOut, GlRole::kIndices, Dtype::kInt32);
  writer.append(std::span(indices));
  writer.end();
  writer.begin(Direction::kOut, GlRole::kEdgeIds, Dtype::kInt64);
  writer.append(std::span(edge_ids));
  writer.end();
  writer.finish({{2, 2, 3, std::uint64_t{1} << 33}, true, false});
}

void write_features(Folder folder) {
  const std::vector<std::vector<std::uint64_t>> shapes = {{7, 3},    {0, 4},    {5},
                                                          {3, 2, 2}, {300, 10}, {6, 0}};
  for (std::uint32_t code = 0; code < kNumDtypes; ++code) {
    for (const auto& shape : shapes) {
      const Dtype dtype = *dtype_from_code(code);
      std::vector<std::byte> rows(byte_size(dtype, shape));
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::byte>(i % 2);
      for (const bool reordered : {false, true}) {
        GdWriter writer(folder.next(), dtype, shape);
        writer.append(rows);
        if (dtype == Dtype::kInt8) writer.append_scales(std::vector<float>(shape[0], 0.5F));
        if (reordered) {
          std::vector<std::int64_t> order(shape[0]);
          std::iota(order.rbegin(), order.rend(), 0);
          RowPlaces::in_order(order, shape[0], code % 2 == 0 ? IdWidth::k4 : IdWidth::k8)
              .visit([&](const auto& places) { writer.append_row_map(places); });
        }
        writer.finish();
      }
    }
  }
}

void write_ids(Folder folder) {
  for (const std::size_t count : {0u, 1u, 5u, 40u, 600u}) {
    IdBuilderOptions options;
    std::vector<std::int64_t> labels(count);
    for (std::size_t i = 0; i < count; ++i) labels[i] = static_cast<std::int64_t>(i * i) - 20;
    IdBuilder integers(folder.next(), options);
    integers.add(labels);
    integers.finish();

    options.kind = LabelKind::kString;
    std::string text;
    std::vector<std::int64_t> offsets = {0};
    for (std::size_t i = 0; i < count; ++i) {
      text += (i % 3 == 0 ? "é" : i % 3 == 1 ? "node " : "") + std::to_string(i * i);
      offsets.push_back(static_cast<std::int64_t>(text.size()));
    }
    IdBuilder strings(folder.next(), options);
    strings.add(StringLabels{std::as_bytes(std::span(text)), offsets});
    strings.finish();
  }
}

// The two bytes before a text are options: see TextCase.
void write_edges(Folder folder) {
  const std::string_view texts[] = {
      "0,1\n2,3\n10,20\n",
      "src\tdst\n0\t1\n\n1\t2\r\n",
      "# comment\n0 1\n  2   3\n4\t5\n",
      "a;b;weight;time\n0;1;0.5;3\n1;2;1e-3;-4\n\"7\";+8;inf;9\n",
      "0,1,0.25,1600000000\n1234567890123456,12345678,3,4\nx,y,z,1\n1,2\n",
      "\xef\xbb\xbf"
      "from|to\n1|2\n3|576460752303423488\n4|99999999999999999999\n",
      "1,2,3,4\r\n5,6,7,8\r",
  };
  for (const std::string_view text : texts) {
    folder.write("\x00\x05"s + std::string(text));
    folder.write("\xc0\x87"s + std::string(text));
  }
}

void write_labels(Folder folder) {
  const std::string_view texts[] = {
      "ann,bob\nbob,\"o\"\"neill\"\ncat,ann\n",
      "src dst weight time\nann bob 0.5 3\nbob cat 2 4\n",
      "x\ty\n\xc3\xa9\t\xff\n\t\n",
      "1,2\n3,4\n",
  };
  for (const std::string_view text : texts) {
    folder.write("\x00\x05"s + std::string(text));
    folder.write("\xc8\x80"s + std::string(text));
  }
}

void write_feature_texts(Folder folder) {
  const std::string_view texts[] = {
      "0.5,1,-2.25\n1e3,7,nan\n.5,0,inf\n",
      "x y z\n1 2 3\n 4  5\t6 \n# no row\n",
      "\"1\",\"2\",3\r\n127,128,+1\n-129,1e400,1e-400\n",
      "true;1;false\n0;2;1\n9007199254740993;3;16777217.0000001\n",
  };
  for (char dtype = 0; dtype < 16; ++dtype)
    for (const std::string_view text : texts)
      folder.write(std::string(1, dtype) + "\x00\x02"s + std::string(text));
  // Wide rows and lines that are none, so that some pieces begin with one of these.
  std::string sparse;
  for (int row = 0; row < 40; ++row) {
    for (int column = 0; column < 30; ++column) sparse += column < 29 ? "1," : "1\n";
    sparse += "\n";
  }
  folder.write("\x01\x00\x05"s + sparse);
}

void write_small_files(const std::string& parent) {
  Folder costs(parent, "read_cost");
  costs.write("1 3e-06 2.7e-10 1699999999\n77 0 1e-9 1699999000\n");
  costs.write("1 1 1 5\nnonsense\n\n2 -1 0 1699999999");
  Folder groups(parent, "control_groups");
  groups.write(
      "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\0"
      "0::/a/b\n\0"
      "1000\n\0"
      "600\n\0"
      "anon 100\nfile 500\n\0"
      "150000 100000\n"s);
  groups.write(
      "31 23 0:27 /d /sys/fs/cgroup rw - cgroup cgroup rw,memory\n"
      "32 23 0:28 / /sys/fs/cgroup rw - cgroup cgroup rw,cpu,cpuacct\n\0"
      "4:memory:/d/a\n1:cpu,cpuacct:/a\n0::/\n\0"
      "max\n\0"
      "1\n\0"
      "x 1\n\0"
      "max 100000\n\0"
      "4096\n\0"
      "150000\n\0"
      "100000\n"s);
}

}  // namespace
}  // namespace gz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  gz::write_graphs({folder, "gl"});
  gz::write_features({folder, "gd"});
  gz::write_ids({folder, "gi"});
  gz::write_edges({folder, "text_edges"});
  gz::write_labels({folder, "text_labels"});
  gz::write_feature_texts({folder, "feature_text"});
  gz::write_small_files(folder);
  return 0;
}
