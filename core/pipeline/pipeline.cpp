#include "core/pipeline/pipeline.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/base/stopwatch.h"
#include "core/pipeline/hot_rows.h"
#include "core/store/appearances.h"

namespace gz {
namespace {

// Batches that are sampled to see what an epoch is like: all tell how large one is. The first ones
// help to choose the rows that stay, the others tell how many are missing then.
constexpr std::uint64_t kLooks = 10;
constexpr std::size_t kLooksToChoose = 8;
// More batches ahead than this make reads no larger.
constexpr std::size_t kMostAhead = 1024;
// Ten batches tell little of hundreds.
constexpr double kLeastGrowth = 0.5;
// For a slot and the wish for its row.
constexpr std::uint64_t kBesideSlot = 80;
// Batches ahead that cost nothing but the memory of their samples.
constexpr std::size_t kMappedAhead = 8;
// The next batch may be larger than all that were looked at.
constexpr double kLarger = 1.1;
constexpr double kMoreSlots = 1.1;
constexpr double kFewestSlots = 64;
// Slots of rows elsewhere are numbers of four bytes.
constexpr std::uint64_t kMostElsewhere = std::uint64_t{1} << 31;

std::uint64_t bytes_of(const Neighborhood& hood) {
  std::uint64_t ids = 0;
  for (const SampledNodes& type : hood.types) ids += type.nodes.size() + type.trees.size();
  for (const SampledEdges& relation : hood.relations) ids += 3 * relation.edges.size();
  return ids * sizeof(std::int64_t);
}

std::span<const std::int64_t> ids_of(const Neighborhood& hood, const Attribute& attribute) {
  return attribute.of_edges ? hood.relations[attribute.of].edges.span()
                            : hood.types[attribute.of].nodes.span();
}

void check_rows(const Attribute& attribute, const SamplerOptions& options) {
  const auto rows = attribute.features->num_rows();
  const std::int64_t wanted =
      attribute.of_edges ? static_cast<std::int64_t>(
                               options.relations[attribute.of].graph->layout().num_input_edges)
                         : options.num_nodes[attribute.of];
  if (rows == wanted) return;
  // Without num_nodes= a graph ends with the last node that has an edge.
  const std::string hint =
      attribute.of_edges || rows < wanted
          ? ""
          : concat("; if so many nodes are meant, write the graph with num_nodes=", rows);
  throw std::invalid_argument(concat(attribute.features->path(), ": expected a row for each of ",
                                     wanted, attribute.of_edges ? " edges" : " nodes", ", found ",
                                     rows, " rows", hint));
}

}  // namespace

Pipeline::Pipeline(PipelineOptions options)
    : options_(std::move(options)),
      sampler_(options_.sampler),
      threads_(options_.threads > 0 ? options_.threads : static_cast<std::size_t>(num_threads())),
      process_(process_id()) {
  for (const Attribute& attribute : options_.attributes) {
    check_rows(attribute, sampler_.options());
    sources_.emplace_back(*attribute.features, attribute.wanted, options_.reader);
  }
}

Pipeline::~Pipeline() { stop(); }

// The threads of a run did not come along into a forked child, and its locks may be taken for ever.
void Pipeline::forget_parent() {
  if (process_ == process_id()) return;
  static_cast<void>(run_.release());
  static_cast<void>(stages_.release());
  stages_ = std::make_unique<StageLog>();
  if (memory_) {
    static_cast<void>(new std::shared_ptr<BatchMemory>(memory_));
    memory_ = std::make_shared<BatchMemory>(options_.pinning);
    memory_->keep(budget_.num_outputs);
    run_options_.memory = memory_;
  }
  process_ = process_id();
}

Pipeline::Look Pipeline::look(const EpochOrder& order, std::uint64_t number) const {
  const SampledBatch sample = sampler_.sample(order, 0, number);
  Look look;
  look.sample_bytes = bytes_of(sample.hood);
  for (const Attribute& attribute : options_.attributes)
    look.ids.emplace_back(ids_of(sample.hood, attribute));
  return look;
}

// How often a batch is expected to need each row of an attribute of nodes.
RecycledVector<float> Pipeline::scores_of(std::size_t a, const std::vector<Look>& looks) const {
  const Attribute& attribute = options_.attributes[a];
  const Direction direction = sampler_.options().sampling.direction;
  RecycledVector<std::uint32_t> counts(sources_[a].layout().num_rows);
  for (const Relation& relation : sampler_.options().relations) {
    if (far_type(relation, direction) != attribute.of) continue;
    const RecycledVector<std::uint32_t> more = appearances(*relation.graph, direction);
    for (std::size_t i = 0; i < std::min(more.size(), counts.size()); ++i)
      counts[i] += std::min(more[i], kMostAppearances - counts[i]);
  }
  const auto chosen_by = std::span(looks).first(std::min(looks.size(), kLooksToChoose));
  std::size_t num_visits = 0;
  for (const Look& look : chosen_by) num_visits += look.ids[a].size();
  RecycledVector<std::int64_t> visits(num_visits);
  std::span<std::int64_t> rest(visits);
  for (const Look& look : chosen_by) {
    look.ids[a].unpack(0, rest.first(look.ids[a].size()));
    rest = rest.subspan(look.ids[a].size());
  }
  return expected_visits(std::move(counts), std::move(visits), chosen_by.size());
}

void Pipeline::choose_elsewhere(std::size_t a, const std::vector<Look>& looks) {
  RowSource& source = sources_[a];
  const std::uint64_t num_rows = source.layout().num_rows;
  const std::uint64_t out_bytes = std::max<std::uint64_t>(source.copy().out_bytes(), 1);
  const std::uint64_t count =
      std::min({options_.attributes[a].elsewhere / out_bytes, num_rows, kMostElsewhere});
  if (count == num_rows || source.features().is_reordered()) {
    source.set_elsewhere(RowSet(0, count));
  } else if (count > 0 && !options_.attributes[a].of_edges) {
    source.set_elsewhere(RowSet(hottest(scores_of(a, looks), count)));
  }
}

void Pipeline::choose_rows(std::size_t a, std::uint64_t bytes, const std::vector<Look>& looks) {
  RowSource& source = sources_[a];
  const RowLayout& layout = source.layout();
  const RowSet& elsewhere = source.elsewhere();
  const std::uint64_t left = layout.num_rows - elsewhere.count();
  if (source.features().is_reordered()) {
    const std::uint64_t first = elsewhere.count();
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
  // Which edges are hot the graph does not say.
  if (options_.attributes[a].of_edges || count == 0) return;
  RecycledVector<float> scores = scores_of(a, looks);
  elsewhere.for_each([&](std::uint64_t row) { scores[row] = 0; });  // all others are above
  source.set_cache(std::make_unique<RowCache>(layout, RowSet(hottest(scores, count))));
}

RecycledVector<std::int64_t> Pipeline::rows_here(std::size_t a, const Look& look) const {
  const Buffer<std::int64_t> ids = look.ids[a].unpack();
  RecycledVector<std::int64_t> rows(ids.size());
  sources_[a].translate(ids.span(), rows);
  Whereabouts whereabouts;
  return sources_[a].rows_here(rows, whereabouts);
}

// Batches ahead miss the same rows, and the more so the more there are.
Pipeline::Growth Pipeline::growth_of_misses(std::size_t a, const std::vector<Look>& looks) const {
  // Rows were chosen by the first ones, which miss fewer for that.
  const std::size_t first = looks.size() > kLooksToChoose ? kLooksToChoose : 0;
  RecycledVector<std::int64_t> rows;
  std::size_t most = 0;
  for (std::size_t i = 0; i < looks.size(); ++i) {
    Misses misses;
    const auto missed = sources_[a].find_misses(rows_here(a, looks[i]), misses);
    rows.insert(rows.end(), missed.begin(), missed.end());
    if (i >= first) most = std::max(most, missed.size());
  }
  const auto total = static_cast<double>(rows.size());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  Growth growth;
  growth.of_one = static_cast<double>(most);
  if (looks.size() > 1 && total > 0) {
    const auto count = static_cast<double>(looks.size());
    const double times = static_cast<double>(rows.size()) / (total / count);
    growth.power = std::clamp(std::log(times) / std::log(count), kLeastGrowth, 1.0);
  }
  return growth;
}

void Pipeline::prepare() {
  const Stopwatch watch;
  if (!allowance_) allowance_.emplace(options_.memory);
  // Those of a call that was interrupted make room for new ones.
  for (RowSource& source : sources_) source.set_cache(nullptr);
  std::vector<Look> looks;
  const EpochOrder order = sampler_.order(0);
  const std::uint64_t num_looks = std::min(kLooks, num_batches());
  for (std::uint64_t i = 0; i < num_looks; ++i)
    looks.push_back(look(order, i * num_batches() / num_looks));
  for (std::size_t a = 0; a < sources_.size(); ++a) choose_elsewhere(a, looks);

  Needs needs;
  needs.memory = options_.memory;
  needs.cache = options_.cache;
  needs.threads = threads_;
  for (const Look& look : looks) {
    std::uint64_t rows = 0;
    for (std::size_t a = 0; a < sources_.size(); ++a) {
      rows += rows_here(a, look).size() * sources_[a].copy().out_bytes();
    }
    needs.row_bytes = std::max(needs.row_bytes, rows);
    needs.sample_bytes = std::max(needs.sample_bytes, look.sample_bytes);
  }
  const auto larger = [](std::uint64_t bytes) {
    return static_cast<std::uint64_t>(static_cast<double>(bytes) * kLarger);
  };
  needs.row_bytes = larger(needs.row_bytes);
  needs.sample_bytes = larger(needs.sample_bytes);
  std::vector<std::size_t> swept;  // the smallest first
  for (std::size_t a = 0; a < sources_.size(); ++a) {
    if (sources_[a].is_mapped()) continue;
    needs.swept_bytes += sources_[a].data_bytes_here();
    swept.push_back(a);
  }
  budget_ = split_memory(needs);

  // Small attributes such as labels are cached whole: a read brings one page, whatever the row's
  // size. The others share what is left in proportion to theirs.
  std::sort(swept.begin(), swept.end(), [&](std::size_t a, std::size_t b) {
    return sources_[a].data_bytes_here() < sources_[b].data_bytes_here();
  });
  std::uint64_t left = budget_.cache, left_data = needs.swept_bytes;
  for (const std::size_t a : swept) {
    const std::uint64_t data = sources_[a].data_bytes_here();
    const bool whole = data <= left / 4 || left >= left_data;
    const auto share =
        whole ? data
              : static_cast<std::uint64_t>(static_cast<double>(left) * static_cast<double>(data) /
                                           static_cast<double>(left_data));
    left_data -= data;
    choose_rows(a, share, looks);
    const RowCache* const cache = sources_[a].cache();
    left -= std::min(left, cache != nullptr ? cache->bytes() : 0);
  }

  run_options_.misses_per_batch.assign(sources_.size(), 0);
  run_options_.fresh_share.assign(sources_.size(), 1);
  const double of_sample = static_cast<double>(needs.sample_bytes) / 2;
  std::vector<Growth> growth(sources_.size());
  for (const std::size_t a : swept) {
    growth[a] = growth_of_misses(a, looks);
    run_options_.misses_per_batch[a] = growth[a].of_one;
  }
  // What batches ahead hold, were there so many: their samples, 8 bytes for each miss, and for each
  // row that is missing in any of them its slot, with kBesideSlot bytes for it and the wish for its
  // row.
  const auto samples_of = [&](double ahead) {
    double bytes = of_sample;
    for (const std::size_t a : swept) bytes += 8 * growth[a].of_one;
    return bytes * ahead;
  };
  const auto slots_of = [&](double ahead) {
    double bytes = 0;
    for (const std::size_t a : swept) {
      bytes +=
          growth[a].of(ahead) * static_cast<double>(sources_[a].layout().row_bytes + kBesideSlot);
    }
    return bytes;
  };
  const auto window = static_cast<double>(budget_.window);
  const std::size_t most =
      std::min({options_.ahead.value_or(swept.empty() ? kMappedAhead : kMostAhead), kMostAhead,
                static_cast<std::size_t>(num_batches())});
  std::size_t fit = 1;
  while (fit < most &&
         samples_of(static_cast<double>(fit + 1)) + slots_of(static_cast<double>(fit + 1)) <=
             window) {
    ++fit;
  }
  run_options_.most_ahead = fit;
  // Some to spare where the window has room for them. A batch that alone has more misses than fit
  // there reads the rest when it is assembled.
  const auto ahead = static_cast<double>(fit);
  const double of_slots = slots_of(ahead);
  const double share =
      of_slots > 0 ? std::min(kMoreSlots, (window - samples_of(ahead)) / of_slots) : 0;
  run_options_.slots.assign(sources_.size(), 0);
  for (const std::size_t a : swept) {
    const double wanted = growth[a].of(ahead) * std::max(share, 0.0) + kFewestSlots;
    run_options_.slots[a] = static_cast<std::size_t>(
        std::min({wanted, static_cast<double>(sources_[a].layout().num_rows),
                  static_cast<double>(RowSlots::kNone)}));
    run_options_.fresh_share[a] = growth[a].fresh_share(ahead);
  }
  looks.clear();
  for (RowSource& source : sources_) source.prepare();

  memory_ = std::make_shared<BatchMemory>(options_.pinning);
  memory_->keep(budget_.num_outputs);
  run_options_.sampler = &sampler_;
  run_options_.attributes = options_.attributes;
  run_options_.sources = &sources_;
  run_options_.sample_bytes = needs.sample_bytes / 2;
  run_options_.memory = memory_;
  run_options_.budget = budget_;
  run_options_.threads = threads_;
  prepared_ = true;
  preparing_ += watch.seconds();
}

void Pipeline::set_seed(std::uint64_t seed) {
  stop();
  sampler_.set_seed(seed);
}

void Pipeline::arrange(Arrangement arrangement) {
  stop();
  sampler_.arrange(std::move(arrangement));
}

void Pipeline::start(std::uint64_t epoch, std::uint64_t first, std::uint64_t stride) {
  stop();
  if (!prepared_) prepare();
  RunOptions options = run_options_;
  options.epoch = epoch;
  options.first = first;
  options.stride = stride;
  options.stages = stages_.get();
  run_ = std::make_unique<Run>(std::move(options));
}

std::optional<Batch> Pipeline::next() {
  forget_parent();
  if (!run_) return std::nullopt;
  return run_->next();
}

bool Pipeline::is_ready() const { return !run_ || process_ != process_id() || run_->is_ready(); }

void Pipeline::stop() {
  forget_parent();
  if (!run_) return;
  past_ += run_->counts();
  run_.reset();
}

PipelineStats Pipeline::stats() const {
  PipelineStats stats;
  stats.counts = past_;
  stats.budget = budget_;
  stats.memory = options_.memory;
  stats.threads = threads_;
  stats.preparing = preparing_;
  stats.most_ahead = run_options_.most_ahead;
  const bool is_ours = process_ == process_id();
  if (run_ && is_ours) {
    stats.counts += run_->counts();
    stats.window_bytes = run_->window_bytes();
    stats.sweep_bytes = run_->sweep_bytes();
    stats.batches_ahead = run_->batches_ahead();
  }
  if (memory_ && is_ours) {
    stats.output_bytes = memory_->bytes();
    stats.pinned_bytes = memory_->pinned_bytes();
  }
  for (const RowSource& source : sources_) {
    const RowCache* const cache = source.cache();
    stats.sources.push_back(
        {source.choice(), cache != nullptr ? cache->count() : 0, source.layout().num_rows});
    if (cache == nullptr) continue;
    stats.cache_bytes += cache->bytes();
    stats.filling += cache->counts();
  }
  return stats;
}

void Pipeline::log_stages(bool on) {
  forget_parent();
  stages_->set_on(on);
}

StageLog::Events Pipeline::stages() const {
  return process_ == process_id() ? stages_->events() : StageLog::Events();
}

}  // namespace gz
