#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/convert/edge_converter.h"
#include "core/format/gl_writer.h"
#include "core/format/weight_sums.h"
#include "core/store/topology.h"
#include "core/store/weighted_draw.h"
#include "tests/cpp/check.h"
#include "tests/cpp/scratch_folder.h"

namespace gz {
namespace {

void write_graph(const std::string& path, std::span<const NodeId> src, std::span<const NodeId> dst,
                 std::span<const float> weights) {
  EdgeConverterOptions options;
  options.weights = true;
  EdgeConverter converter(options);
  converter.add_edges(src, dst, weights, {});
  converter.finish(path);
}

// Lists of 40, 0, 8, 16, 1 and 100 entries; weights that no sum of keeps all digits.
struct Lists {
  std::vector<std::int64_t> indptr = {0, 40, 40, 48, 64, 65, 165};
  std::vector<std::int32_t> indices;
  std::vector<float> weights;
  std::vector<NodeId> src, dst;

  Lists() {
    for (NodeId node = 0; node < 6; ++node) {
      for (std::int64_t at = indptr[static_cast<std::size_t>(node)];
           at < indptr[static_cast<std::size_t>(node) + 1]; ++at) {
        src.push_back(node);
        weights.push_back(at % 7 == 3 ? 0.0f : 1.0f / static_cast<float>(at + 3));
      }
    }
    dst.assign(src.size(), 5);
    indices.assign(src.size(), 5);
  }
};

// Without `sums` a file of before there were any.
void write_file(const std::string& path, const Lists& lists, Direction direction,
                const std::vector<double>& sums = {}) {
  GlWriter writer(path);
  const auto write = [&]<class Item>(GlRole role, Dtype dtype, const std::vector<Item>& items) {
    writer.begin(direction, role, dtype);
    writer.append(std::span<const Item>(items));
    writer.end();
  };
  write(GlRole::kIndptr, Dtype::kInt64, lists.indptr);
  write(GlRole::kIndices, Dtype::kInt32, lists.indices);
  write(GlRole::kWeights, Dtype::kFloat32, lists.weights);
  if (!sums.empty()) write(GlRole::kWeightSums, Dtype::kFloat64, sums);
  GlInfo info;
  info.counts = {6, 6, lists.indices.size(), lists.indices.size()};
  writer.finish(info);
}

std::vector<double> expected_sums(const Lists& lists) {
  std::vector<double> sums;
  double sum = 0;
  for (std::size_t at = 0; at < lists.src.size(); ++at) {
    if (at > 0 && lists.src[at] != lists.src[at - 1]) sum = 0;
    if (at % 16 == 0) sums.push_back(sum);
    sum += lists.weights[at];
  }
  return sums;
}

bool same(std::span<const double> a, const std::vector<double>& b) {
  return std::vector<double>(a.begin(), a.end()) == b;
}

TEST(sums_of_weights_have_the_same_bits_stored_or_built) {
  const ScratchFolder folder;
  const Lists lists;
  for (const Direction direction : {Direction::kOut, Direction::kIn}) {
    write_file(folder.file("built.gl"), lists, direction);
    const Topology built(folder.file("built.gl"));
    EXPECT(built.index(direction).weight_sums.data() == nullptr);
    EXPECT(same(built.weight_sums(direction), expected_sums(lists)));
    EXPECT(built.weight_sums(direction).data() == built.weight_sums(direction).data());
  }
  write_graph(folder.file("stored.gl"), lists.src, lists.dst, lists.weights);
  const Topology stored(folder.file("stored.gl"));
  const auto sums = stored.weight_sums(Direction::kOut);
  EXPECT(sums.data() == stored.index(Direction::kOut).weight_sums.data());
  EXPECT(same(sums, expected_sums(lists)));
}

TEST(a_sum_does_not_depend_on_where_a_list_is_cut) {
  const Lists lists;
  for (const std::size_t step : {1u, 3u, 16u, 40u}) {
    WeightSums sums;
    std::vector<double> items;
    for (std::size_t v = 0; v + 1 < lists.indptr.size(); ++v) {
      sums.start_list();
      const auto end = static_cast<std::size_t>(lists.indptr[v + 1]);
      for (auto at = static_cast<std::size_t>(lists.indptr[v]); at < end; at += step) {
        sums.add(std::span(lists.weights).subspan(at, std::min(step, end - at)), items);
      }
    }
    EXPECT(items == expected_sums(lists));
  }
}

TEST(a_weight_that_is_no_number_is_named_when_sums_are_built) {
  const ScratchFolder folder;
  Lists lists;
  lists.weights[50] = -1;
  write_file(folder.file("bad.gl"), lists, Direction::kOut);
  const Topology graph(folder.file("bad.gl"));
  EXPECT(test::message_of([&] { graph.weight_sums(Direction::kOut); }) ==
         concat(folder.file("bad.gl"),
                ": weight of entry 50, an edge of node 3: expected a finite number that is not "
                "negative, found -1"));
}

TEST(a_target_between_two_running_sums_finds_its_entry) {
  const ScratchFolder folder;
  const Lists lists;
  write_file(folder.file("g.gl"), lists, Direction::kOut);
  const Topology graph(folder.file("g.gl"));
  const WeightedDraw draw(graph, Direction::kOut);
  for (NodeId node = 0; node < 6; ++node) {
    const EdgeRange list = graph.edges_of(Direction::kOut, node);
    if (list.size() == 0) continue;
    const double total = draw.total(list);
    double sum = 0;
    for (EdgeId at = list.begin; at < list.end; ++at) {
      EXPECT(draw.sum_before(list, at) == sum);
      if (draw.weight(at) > 0) EXPECT(draw.find(list, sum, total) == at);
      sum += draw.weight(at);
    }
    EXPECT(total == sum);
  }
}

// Wherever the first probe leads, and however far from it the entry lies.
TEST(a_search_in_a_long_list_finds_its_entry_for_any_weights) {
  const ScratchFolder folder;
  for (const int shape : {0, 1, 2, 3}) {
    const std::size_t count = 20000;
    const std::vector<NodeId> src(count, 0), dst(count, 1);
    std::vector<float> weights(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto x = static_cast<float>(i);
      weights[i] = shape == 0   ? 1.0f
                   : shape == 1 ? (i < 100 ? 1e6f : 1e-3f)
                   : shape == 2 ? (i > 19000 ? 1e6f : 1e-3f)
                                : x * x;
    }
    write_graph(folder.file("long.gl"), src, dst, weights);
    const Topology graph(folder.file("long.gl"));
    const WeightedDraw draw(graph, Direction::kOut);
    const EdgeRange list = graph.edges_of(Direction::kOut, 0);
    const double total = draw.total(list);
    double sum = 0;
    for (EdgeId at = list.begin; at < list.end; ++at) {
      const double after = sum + static_cast<double>(draw.weight(at));
      if (after > sum) EXPECT(draw.find(list, sum, total) == at);
      sum = after;
    }
  }
}

// The first entry whose running sum is above the target, by adding all weights.
EdgeId first_above(std::span<const float> weights, EdgeRange list, double target) {
  double sum = 0;
  EdgeId at = list.begin;
  for (; at < list.end; ++at) {
    sum += weights[static_cast<std::size_t>(at)];
    if (sum > target) break;
  }
  return at;
}

TEST(a_search_finds_what_adding_all_weights_finds) {
  const ScratchFolder folder;
  // Lists that begin and end everywhere between two stored sums, and some of many lines of sums.
  std::vector<NodeId> src;
  std::vector<std::size_t> sizes = {5000};
  for (std::size_t size = 1; size < 40; ++size) sizes.push_back(size);
  for (const std::size_t size : {127u, 128u, 129u, 143u, 256u, 300u, 2047u}) sizes.push_back(size);
  for (std::size_t node = 0; node < sizes.size(); ++node)
    src.insert(src.end(), sizes[node], static_cast<NodeId>(node));
  const std::vector<NodeId> dst(src.size(), 0);
  for (const int law : {0, 1, 2, 3, 4, 5, 6}) {
    std::vector<float> weights(src.size());
    Rng rng(1, {static_cast<std::uint64_t>(law)});
    for (float& weight : weights) {
      const double u = rng.uniform();
      weight = static_cast<float>(law == 0   ? 1.0                                  // all alike
                                  : law == 1 ? 1 - u                                // ordinary
                                  : law == 2 ? (u < 0.7 ? 0 : u)                    // mostly none
                                  : law == 3 ? (u < 0.002 ? 1e30 : 1)               // one huge
                                  : law == 4 ? std::exp2(std::floor(u * 120) - 60)  // powers of two
                                  : law == 5 ? 1e-45 * (1 + std::floor(u * 100))    // denormal
                                             : std::exp(30 * u - 15));              // very uneven
    }
    write_graph(folder.file("g.gl"), src, dst, weights);
    const Topology graph(folder.file("g.gl"));
    const WeightedDraw draw(graph, Direction::kOut);
    const auto stored = graph.index(Direction::kOut).weights;
    for (NodeId node = 0; node < static_cast<NodeId>(sizes.size()); ++node) {
      const EdgeRange list = graph.edges_of(Direction::kOut, node);
      const double total = draw.total(list);
      if (total == 0) continue;
      std::vector<double> targets = {0, std::nextafter(total, 0.0), rng.uniform() * total};
      double sum = 0;  // ties: a target that is a sum itself, and its neighbours
      for (EdgeId at = list.begin; at < list.end; at += 1 + list.size() / 50) {
        sum = draw.sum_before(list, at);
        for (const double target : {sum, std::nextafter(sum, 0.0), std::nextafter(sum, total)})
          if (target >= 0 && target < total) targets.push_back(target);
      }
      for (const double target : targets) {
        const EdgeId expected = first_above(stored, list, target);
        EXPECT(draw.find(list, target, total) == expected);
        for (const double share : {0.0, 0.5, 1.0, -1.0, 1e300}) {  // wherever it is sent first
          auto search = draw.begin_search(list, share);
          search.target = target;
          while (search.count > 0) draw.narrow(search);
          EXPECT(draw.finish_search(list, search) == expected);
        }
      }
    }
  }
}

TEST(stored_sums_that_do_not_fit_the_weights_are_refused) {
  const ScratchFolder folder;
  const Lists lists;
  auto sums = expected_sums(lists);
  sums.back() = 1000;
  write_file(folder.file("g.gl"), lists, Direction::kOut, sums);
  const Topology graph(folder.file("g.gl"));
  const WeightedDraw draw(graph, Direction::kOut);
  const EdgeRange list = graph.edges_of(Direction::kOut, 5);
  EXPECT(draw.total(list) > 1000);
  EXPECT(test::message_of([&] { draw.find(list, 500, 1000); }) ==
         concat(folder.file("g.gl"),
                ": corrupt weights at entries 65 to 164: their stored sums and their weights do "
                "not agree"));
}

}  // namespace
}  // namespace gz
