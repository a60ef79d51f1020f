#include "core/pipeline/preparation.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/stopwatch.h"
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
// Batches ahead that cost nothing but the memory of their samples: so many, or this for each
// thread. One that it samples, and one that waits for those before it.
constexpr std::size_t kMappedAhead = 8;
constexpr std::size_t kMappedAheadPerThread = 2;
// Budgets for rows that stay that are tried, in equal steps.
constexpr std::uint64_t kSteps = 32;
// What a thread takes for each byte that it copies, and for a row that is missed beside what it
// takes for one that is there: it is asked for, read and copied once more. Two cores of an EPYC.
constexpr double kCopySeconds = 0.25e-9;
constexpr double kMissSeconds = 0.3e-6;
// What is not the bottleneck still gets in its way.
constexpr double kInTheWay = 0.15;
// Slots of rows on the device are numbers of four bytes.
constexpr std::uint64_t kMostOnDevice = std::uint64_t{1} << 31;

std::uint64_t bytes_of(const Neighborhood& hood) {
  std::uint64_t ids = 0;
  for (const SampledNodes& type : hood.types) ids += type.nodes.size() + type.trees.size();
  for (const SampledEdges& relation : hood.relations) ids += 3 * relation.edges.size();
  return ids * sizeof(std::int64_t);
}

// What a batch takes, if the consumer takes no time.
double seconds_of(const Plan& plan) {
  const double of_threads =
      std::max(plan.thread_seconds / static_cast<double>(plan.budget.threads),
               plan.sample_seconds / static_cast<double>(plan.budget.samplers));
  return std::max(plan.read_seconds, of_threads) +
         kInTheWay * std::min(plan.read_seconds, of_threads);
}

}  // namespace

Preparation::Preparation(const BatchSampler& sampler, std::span<const Attribute> attributes,
                         std::deque<RowSource>& sources)
    : sampler_(sampler), attributes_(attributes), sources_(sources) {
  const EpochOrder order = sampler_.order(0);
  const std::uint64_t num_batches = sampler_.num_batches();
  const std::uint64_t count = std::min(kProbes, num_batches);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Stopwatch watch;
    probes_.push_back(probe(order, i * num_batches / count));
    // The first ones may find a graph that is not in memory yet.
    sample_seconds_ = i == 0 ? watch.seconds() : std::min(sample_seconds_, watch.seconds());
  }
}

Preparation::Probe Preparation::probe(const EpochOrder& order, std::uint64_t number) const {
  const SampledBatch sample = sampler_.sample(order, 0, number);
  Probe probe;
  probe.sample_bytes = bytes_of(sample.hood);
  probe.nodes.resize(sample.hood.types.size());
  probe.edges.resize(sample.hood.relations.size());
  for (const Attribute& attribute : attributes_) {
    PackedIds& ids = (attribute.of_edges ? probe.edges : probe.nodes)[attribute.of];
    if (ids.size() == 0) ids = PackedIds(attribute.ids_in(sample.hood));
  }
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
  for (const Probe& probe : chosen_by) num_visits += probe.ids(attributes_[a]).size();
  RecycledVector<std::int64_t> visits(num_visits);
  std::span<std::int64_t> rest(visits);
  for (const Probe& probe : chosen_by) {
    probe.ids(attributes_[a]).unpack(0, rest.first(probe.ids(attributes_[a]).size()));
    rest = rest.subspan(probe.ids(attributes_[a]).size());
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

Preparation::Swept Preparation::look_at(std::size_t a) const {
  const RowSource& source = sources_[a];
  Swept swept{a, source.host_data_bytes(), {}, {}};
  const RowSet& on_device = source.on_device();
  std::vector<HeatBand> bands;
  const bool is_sorted = source.features().is_reordered();
  if (is_sorted) {
    RecycledVector<std::int64_t> visits;
    for (const Probe& probe : probes_) {
      const RecycledVector<std::int64_t> rows = host_rows(a, probe);
      visits.insert(visits.end(), rows.begin(), rows.end());
    }
    bands = bands_in_file(visits, probes_.size(), on_device.count(), source.layout().num_rows);
  } else if (!attributes_[a].of_edges) {
    swept.scores = scores_of(a);
    on_device.for_each([&](std::uint64_t row) { swept.scores[row] = 0; });  // all others are above
    bands = bands_of_scores(swept.scores);
  } else {  // the graph does not say which edges are hot
    HeatBand all{static_cast<double>(source.layout().num_rows), 0};
    for (const Probe& probe : probes_)
      all.visits += static_cast<double>(probe.ids(attributes_[a]).size());
    all.visits /= static_cast<double>(probes_.size());
    bands = {all};
  }
  swept.traffic =
      RowTraffic(std::move(bands), is_sorted, source.layout().row_bytes, source.read_cost());
  return swept;
}

// How many rows can stay in so many bytes.
std::uint64_t Preparation::rows_in(const Swept& swept, std::uint64_t bytes) const {
  const RowSource& source = sources_[swept.attribute];
  const RowLayout& layout = source.layout();
  if (bytes >= swept.data_bytes) return layout.num_rows - source.on_device().count();
  if (source.features().is_reordered()) return bytes / layout.row_bytes;
  if (swept.scores.empty()) return 0;
  const std::uint64_t marks = layout.num_rows / 4;  // what ChosenRows takes
  return bytes > marks ? (bytes - marks) / layout.row_bytes : 0;
}

void Preparation::choose_cached_rows(Swept& swept, std::uint64_t bytes) {
  RowSource& source = sources_[swept.attribute];
  const RowLayout& layout = source.layout();
  const std::uint64_t first = source.on_device().count();
  const std::uint64_t count = rows_in(swept, bytes);
  if (source.features().is_reordered()) {
    source.set_cache(std::make_unique<RowCache>(layout, RowSet(first, first + count)));
  } else if (bytes >= source.data_bytes()) {
    source.set_cache(std::make_unique<RowCache>(layout, RowSet(0, layout.num_rows)));
  } else if (count > 0 && !swept.scores.empty()) {
    source.set_cache(std::make_unique<RowCache>(layout, RowSet(hottest(swept.scores, count))));
  }
  swept.scores = {};
}

RecycledVector<std::int64_t> Preparation::host_rows(std::size_t a, const Probe& probe) const {
  const Buffer<std::int64_t> ids = probe.ids(attributes_[a]).unpack();
  RecycledVector<std::int64_t> rows(ids.size());
  sources_[a].translate(ids.span(), rows);
  DeviceRowIndex index;
  return sources_[a].host_rows(rows, index);
}

Plan Preparation::divide_memory(Needs wanted, std::optional<std::size_t> most_batches) {
  for (std::size_t a = 0; a < sources_.size(); ++a) choose_device_rows(a);
  std::vector<BatchBytes> sizes;
  for (const Probe& probe : probes_) {
    sizes.push_back({probe.sample_bytes, 0});
    std::uint64_t swept = 0;
    for (std::size_t a = 0; a < sources_.size(); ++a) {
      const std::uint64_t rows = host_rows(a, probe).size();
      sizes.back().rows += rows * sources_[a].copy().out_bytes();
      if (!sources_[a].is_mapped()) swept += rows;
    }
    wanted.swept_rows = std::max(wanted.swept_rows, swept);
  }
  const BatchBytes batch = largest(sizes);
  sample_bytes_ = wanted.sample_bytes = batch.sample;
  row_bytes_ = wanted.row_bytes = batch.rows;
  for (const RowSource& source : sources_)
    wanted.swept_bytes += source.is_mapped() ? 0 : source.host_data_bytes();
  const Budget budget = split_memory(wanted);
  for (std::size_t a = 0; a < sources_.size(); ++a) {
    if (!sources_[a].is_mapped() && sources_[a].host_data_bytes() > 0) swept_.push_back(look_at(a));
  }
  const AheadNeeds needs = ahead_needs(most_batches, wanted.threads);
  Plan plan = best_plan(budget, needs, wanted.cache.has_value());
  // Each thread that samples takes memory that rows could have.
  for (std::size_t samplers = budget.samplers / 2; samplers >= 1 && !swept_.empty();
       samplers /= 2) {
    wanted.most_samplers = samplers;
    const Plan other = best_plan(split_memory(wanted), needs, wanted.cache.has_value());
    if (seconds_of(other) < seconds_of(plan)) plan = other;
  }
  divide_room(plan.budget.cache, data_bytes(), [&](std::size_t i, std::uint64_t share) {
    choose_cached_rows(swept_[i], share);
    const RowCache* const cache = sources_[swept_[i].attribute].cache();
    return cache != nullptr ? cache->bytes() : 0;
  });
  // Now it is known exactly.
  AheadNeeds exact = needs;
  exact.window = plan.budget.window;
  exact.num_outputs = plan.budget.num_outputs;
  exact.draws_again = plan.ahead.draws_again;
  std::vector<double> cached;
  for (const Swept& swept : swept_) {
    exact.missed[swept.attribute].rows = most_misses(swept.attribute);
    const RowCache* const cache = sources_[swept.attribute].cache();
    cached.push_back(cache != nullptr ? static_cast<double>(cache->count()) : 0);
  }
  plan.ahead = plan_read_ahead(exact);
  expect(plan, cached);
  const auto largest_file =
      std::max_element(swept_.begin(), swept_.end(),
                       [](const Swept& a, const Swept& b) { return a.data_bytes < b.data_bytes; });
  if (largest_file != swept_.end()) plan.read_cost = sources_[largest_file->attribute].read_cost();
  return plan;
}

std::vector<std::uint64_t> Preparation::data_bytes() const {
  std::vector<std::uint64_t> bytes;
  for (const Swept& swept : swept_) bytes.push_back(swept.data_bytes);
  return bytes;
}

// All but what a batch misses and what there is for it.
AheadNeeds Preparation::ahead_needs(std::optional<std::size_t> most_batches,
                                    std::size_t threads) const {
  AheadNeeds needs;
  needs.sample_bytes = sample_bytes_;
  needs.missed.resize(sources_.size());
  std::uint64_t total = 0;
  for (const RowSource& source : sources_) total += source.is_mapped() ? 0 : source.data_bytes();
  for (std::size_t a = 0; a < sources_.size(); ++a) {
    if (sources_[a].is_mapped()) continue;
    const RowLayout& layout = sources_[a].layout();
    needs.missed[a] = {0, layout.row_bytes, Sweep::sections_of(layout, total).count};
  }
  const std::size_t most =
      swept_.empty() ? std::max(kMappedAhead, kMappedAheadPerThread * threads) : kMostAhead;
  needs.most_batches = std::min(
      {most_batches.value_or(most), kMostAhead, static_cast<std::size_t>(sampler_.num_batches())});
  return needs;
}

// Sets what to expect of a plan with so many rows that stay.
void Preparation::expect(Plan& plan, std::span<const double> cached) const {
  const auto batches = static_cast<double>(plan.ahead.most_batches);
  RowTraffic::Cost cost;
  plan.misses = 0;
  for (std::size_t i = 0; i < swept_.size(); ++i) {
    cost += swept_[i].traffic.sweep(cached[i], batches);
    plan.misses += swept_[i].traffic.misses(cached[i]);
  }
  plan.read_bytes = cost.bytes / batches;
  plan.read_seconds = cost.seconds / batches;
  plan.sample_seconds = sample_seconds_ * (plan.ahead.draws_again ? 2 : 1);
  plan.thread_seconds = plan.sample_seconds + static_cast<double>(row_bytes_) * kCopySeconds +
                        plan.misses * kMissSeconds;
}

// The faster one of keeping samples and drawing them again.
Plan Preparation::plan_with_cache(const Budget& budget, std::uint64_t cache,
                                  AheadNeeds needs) const {
  Plan kept;
  kept.budget = budget;
  kept.budget.window = needs.window = budget.cache + budget.window - cache;
  kept.budget.cache = cache;
  needs.num_outputs = budget.num_outputs;
  std::vector<double> cached(swept_.size());
  divide_room(cache, data_bytes(), [&](std::size_t i, std::uint64_t share) {
    const std::uint64_t rows = rows_in(swept_[i], share);
    cached[i] = static_cast<double>(rows);
    needs.missed[swept_[i].attribute].rows =
        static_cast<std::uint64_t>(swept_[i].traffic.misses(cached[i]));
    return rows > 0 ? share : 0;
  });
  kept.ahead = plan_read_ahead(needs);
  expect(kept, cached);
  Plan drawn_again = kept;
  needs.draws_again = true;
  drawn_again.ahead = plan_read_ahead(needs);
  expect(drawn_again, cached);
  return seconds_of(drawn_again) < seconds_of(kept) ? drawn_again : kept;
}

Plan Preparation::best_plan(const Budget& budget, const AheadNeeds& needs,
                            bool is_cache_given) const {
  Plan best = plan_with_cache(budget, budget.cache, needs);
  if (swept_.empty() || is_cache_given || budget.cache > 0) return best;
  const std::uint64_t room = budget.window - budget.least_window;
  for (std::uint64_t step = 1; step <= kSteps; ++step) {
    const Plan plan = plan_with_cache(budget, room / kSteps * step, needs);
    if (seconds_of(plan) < seconds_of(best)) best = plan;
  }
  return best;
}

// Of a batch.
std::uint64_t Preparation::most_misses(std::size_t a) const {
  // Rows were chosen by the first probes, which miss fewer for that.
  const std::size_t first = probes_.size() > kProbesToChoose ? kProbesToChoose : 0;
  std::uint64_t most = 0;
  for (std::size_t i = first; i < probes_.size(); ++i) {
    most = std::max<std::uint64_t>(most,
                                   sources_[a].find_misses(host_rows(a, probes_[i])).rows.size());
  }
  return most;
}

}  // namespace gz
