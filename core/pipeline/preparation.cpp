#include "core/pipeline/preparation.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/pipeline/hot_rows.h"
#include "core/store/neighbor_counts.h"

namespace gz {
namespace {

// Batches that are sampled: all tell how large one is. The first ones help to choose the rows that
// stay, the others tell how many are missing then.
constexpr std::uint64_t kProbes = 10;
constexpr std::size_t kProbesToChoose = 8;
// More batches ahead than this make reads no larger.
constexpr std::size_t kMostAhead = 1024;
// Batches ahead that cost nothing but the memory of their samples.
constexpr std::size_t kMappedAhead = 8;
// Slots of rows on the device are numbers of four bytes.
constexpr std::uint64_t kMostOnDevice = std::uint64_t{1} << 31;

std::uint64_t bytes_of(const Neighborhood& hood) {
  std::uint64_t ids = 0;
  for (const SampledNodes& type : hood.types) ids += type.nodes.size() + type.trees.size();
  for (const SampledEdges& relation : hood.relations) ids += 3 * relation.edges.size();
  return ids * sizeof(std::int64_t);
}

}  // namespace

Preparation::Preparation(const BatchSampler& sampler, std::span<const Attribute> attributes,
                         std::deque<RowSource>& sources)
    : sampler_(sampler), attributes_(attributes), sources_(sources) {
  const EpochOrder order = sampler_.order(0);
  const std::uint64_t num_batches = sampler_.num_batches();
  const std::uint64_t count = std::min(kProbes, num_batches);
  for (std::uint64_t i = 0; i < count; ++i)
    probes_.push_back(probe(order, i * num_batches / count));
}

Preparation::Probe Preparation::probe(const EpochOrder& order, std::uint64_t number) const {
  const SampledBatch sample = sampler_.sample(order, 0, number);
  Probe probe;
  probe.sample_bytes = bytes_of(sample.hood);
  for (const Attribute& attribute : attributes_)
    probe.ids.emplace_back(attribute.ids_in(sample.hood));
  return probe;
}

// How often a batch is expected to need each row of an attribute of nodes.
RecycledVector<float> Preparation::scores_of(std::size_t a) const {
  const Direction direction = sampler_.options().sampling.direction;
  RecycledVector<std::uint32_t> counts(sources_[a].layout().num_rows);
  for (const Relation& relation : sampler_.options().relations) {
    if (far_type(relation, direction) != attributes_[a].of) continue;
    const RecycledVector<std::uint32_t> more = neighbor_counts(*relation.graph, direction);
    for (std::size_t i = 0; i < std::min(more.size(), counts.size()); ++i)
      counts[i] += std::min(more[i], kMostNeighborCount - counts[i]);
  }
  const auto chosen_by = std::span(probes_).first(std::min(probes_.size(), kProbesToChoose));
  std::size_t num_visits = 0;
  for (const Probe& probe : chosen_by) num_visits += probe.ids[a].size();
  RecycledVector<std::int64_t> visits(num_visits);
  std::span<std::int64_t> rest(visits);
  for (const Probe& probe : chosen_by) {
    probe.ids[a].unpack(0, rest.first(probe.ids[a].size()));
    rest = rest.subspan(probe.ids[a].size());
  }
  return expected_visits(std::move(counts), std::move(visits), chosen_by.size());
}

void Preparation::choose_device_rows(std::size_t a) {
  RowSource& source = sources_[a];
  const std::uint64_t num_rows = source.layout().num_rows;
  const std::uint64_t out_bytes = std::max<std::uint64_t>(source.copy().out_bytes(), 1);
  const std::uint64_t count =
      std::min({attributes_[a].bytes_on_device / out_bytes, num_rows, kMostOnDevice});
  if (count == num_rows || source.features().is_reordered()) {
    source.set_on_device(RowSet(0, count));
  } else if (count > 0 && !attributes_[a].of_edges) {
    source.set_on_device(RowSet(hottest(scores_of(a), count)));
  }
}

void Preparation::choose_cached_rows(std::size_t a, std::uint64_t bytes) {
  RowSource& source = sources_[a];
  const RowLayout& layout = source.layout();
  const RowSet& on_device = source.on_device();
  const std::uint64_t left = layout.num_rows - on_device.count();
  if (source.features().is_reordered()) {
    const std::uint64_t first = on_device.count();
    const std::uint64_t count = std::min(bytes / layout.row_bytes, left);
    source.set_cache(std::make_unique<RowCache>(layout, RowSet(first, first + count)));
    return;
  }
  if (bytes >= source.data_bytes()) {
    source.set_cache(std::make_unique<RowCache>(layout, RowSet(0, layout.num_rows)));
    return;
  }
  const std::uint64_t marks = layout.num_rows / 4;  // what ChosenRows takes
  const std::uint64_t count =
      std::min(bytes > marks ? (bytes - marks) / layout.row_bytes : 0, left);
  // The graph does not say which edges are hot.
  if (attributes_[a].of_edges || count == 0) return;
  RecycledVector<float> scores = scores_of(a);
  on_device.for_each([&](std::uint64_t row) { scores[row] = 0; });  // all others are above
  source.set_cache(std::make_unique<RowCache>(layout, RowSet(hottest(scores, count))));
}

RecycledVector<std::int64_t> Preparation::host_rows(std::size_t a, const Probe& probe) const {
  const Buffer<std::int64_t> ids = probe.ids[a].unpack();
  RecycledVector<std::int64_t> rows(ids.size());
  sources_[a].translate(ids.span(), rows);
  DeviceRowIndex index;
  return sources_[a].host_rows(rows, index);
}

Budget Preparation::divide_memory(Needs wanted) {
  for (std::size_t a = 0; a < sources_.size(); ++a) choose_device_rows(a);
  std::vector<BatchBytes> sizes;
  for (const Probe& probe : probes_) {
    sizes.push_back({probe.sample_bytes, 0});
    for (std::size_t a = 0; a < sources_.size(); ++a)
      sizes.back().rows += host_rows(a, probe).size() * sources_[a].copy().out_bytes();
  }
  const BatchBytes batch = largest(sizes);
  sample_bytes_ = wanted.sample_bytes = batch.sample;
  wanted.row_bytes = batch.rows;
  std::vector<std::size_t> swept;
  std::vector<std::uint64_t> data_bytes;  // beside them
  for (std::size_t a = 0; a < sources_.size(); ++a) {
    if (sources_[a].is_mapped()) continue;
    swept.push_back(a);
    data_bytes.push_back(sources_[a].host_data_bytes());
    wanted.swept_bytes += data_bytes.back();
  }
  const Budget budget = split_memory(wanted);
  divide_room(budget.cache, data_bytes, [&](std::size_t i, std::uint64_t share) {
    choose_cached_rows(swept[i], share);
    const RowCache* const cache = sources_[swept[i]].cache();
    return cache != nullptr ? cache->bytes() : 0;
  });
  return budget;
}

Growth Preparation::growth_of_misses(std::size_t a) const {
  // Rows were chosen by the first probes, which miss fewer for that.
  const std::size_t first = probes_.size() > kProbesToChoose ? kProbesToChoose : 0;
  RecycledVector<std::int64_t> rows;
  std::size_t most = 0;
  for (std::size_t i = 0; i < probes_.size(); ++i) {
    Misses misses;
    const auto missed = sources_[a].find_misses(host_rows(a, probes_[i]), misses);
    rows.insert(rows.end(), missed.begin(), missed.end());
    if (i >= first) most = std::max(most, missed.size());
  }
  return gz::growth_of_misses(std::move(rows), probes_.size(), most);
}

ReadAhead Preparation::read_ahead(const Budget& budget,
                                  std::optional<std::size_t> most_batches) const {
  std::vector<MissedRows> missed(sources_.size());
  std::size_t most = kMappedAhead;
  for (std::size_t a = 0; a < sources_.size(); ++a) {
    if (sources_[a].is_mapped()) continue;
    const RowLayout& layout = sources_[a].layout();
    missed[a] = {growth_of_misses(a), layout.row_bytes, layout.num_rows};
    most = kMostAhead;
  }
  most = std::min(
      {most_batches.value_or(most), kMostAhead, static_cast<std::size_t>(sampler_.num_batches())});
  return plan_read_ahead(budget.window, sample_bytes_, most, missed);
}

}  // namespace gz
