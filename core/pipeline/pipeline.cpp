#include "core/pipeline/pipeline.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/base/process.h"
#include "core/base/stopwatch.h"
#include "core/pipeline/preparation.h"

namespace gz {
namespace {

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
          : concat("; if the graph is to have that many nodes, write it with num_nodes=", rows);
  throw std::invalid_argument(concat(attribute.features->path(), ": expected a row for each of ",
                                     wanted, attribute.of_edges ? " edges" : " nodes", ", found ",
                                     rows, " rows", hint));
}

// Rows of edges are found by their ids.
PipelineOptions with_edge_ids(PipelineOptions options) {
  for (const Attribute& attribute : options.attributes) {
    if (attribute.of_edges) options.sampler.relations.at(attribute.of).edge_ids = true;
  }
  return options;
}

}  // namespace

Pipeline::Pipeline(PipelineOptions options)
    : options_(with_edge_ids(std::move(options))),
      sampler_(options_.sampler),
      num_threads_(options_.threads > 0 ? options_.threads
                                        : static_cast<std::size_t>(num_threads())),
      process_(process_id()) {
  plan_.budget.threads = num_threads_;
  for (const Attribute& attribute : options_.attributes) {
    check_rows(attribute, sampler_.options());
    sources_.emplace_back(attribute, options_.reader);
  }
}

Pipeline::~Pipeline() { stop(); }

// The threads of a run did not come along into a forked child, and its locks may be taken for ever.
void Pipeline::forget_parent() {
  if (process_ == process_id()) return;
  static_cast<void>(run_.release());
  static_cast<void>(stages_.release());
  stages_ = std::make_unique<StageLog>();
  // Nor will those rows come that the parent's threads were reading.
  for (RowSource& source : sources_) {
    if (source.cache_to_fill() == nullptr) continue;
    source.leave_cache();
    prepared_ = false;
  }
  if (memory_) {
    static_cast<void>(new std::shared_ptr<BatchMemory>(memory_));
    make_batch_memory();
  }
  process_ = process_id();
}

void Pipeline::make_batch_memory() {
  const Budget& budget = plan_.budget;
  memory_ = std::make_shared<BatchMemory>(options_.pinning);
  memory_->keep(budget.num_outputs,
                memory_->is_pinned() ? budget.outputs / budget.num_outputs : budget.output_rows);
  run_options_.memory = memory_;
}

void Pipeline::prepare() {
  if (prepared_) return;
  const Stopwatch watch;
  if (!allowance_) allowance_.emplace(options_.memory);
  // Those of a call that was interrupted, or for other room on the device, make room for new ones.
  for (RowSource& source : sources_) {
    if (source.cache() != nullptr) past_filling_ += source.cache()->counts();
    source.set_cache(nullptr);
    source.set_on_device(RowSet());
  }
  {
    Preparation preparation(sampler_, options_.attributes, sources_);
    Needs wanted;
    wanted.memory = options_.memory;
    wanted.cache = options_.cache;
    wanted.threads = wanted.most_samplers = num_threads_;
    plan_ = preparation.divide_memory(wanted, options_.ahead);
  }
  for (RowSource& source : sources_) source.preload();
  // What samples needed waits for the next ones, and so does the memory of ids.
  const Budget& budget = plan_.budget;
  idle_room_.set(budget.working + budget.outputs - budget.num_outputs * budget.output_rows);

  make_batch_memory();
  run_options_.sampler = &sampler_;
  run_options_.attributes = options_.attributes;
  run_options_.sources = &sources_;
  run_options_.budget = plan_.budget;
  run_options_.ahead = plan_.ahead;
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
  prepare();
  RunOptions options = run_options_;
  options.epoch = epoch;
  options.first = first;
  options.stride = stride;
  options.stages = stages_.get();
  run_ = std::make_unique<Run>(std::move(options));
  epoch_ = epoch;
  next_ = first;
  stride_ = stride;
}

void Pipeline::set_device_room(std::span<const std::uint64_t> bytes) {
  std::vector<Attribute>& attributes = options_.attributes;
  const bool same =
      std::equal(attributes.begin(), attributes.end(), bytes.begin(), bytes.end(),
                 [](const Attribute& a, std::uint64_t room) { return a.bytes_on_device == room; });
  if (same) return;
  forget_parent();
  const bool under_way = run_ != nullptr;
  stop();
  for (std::size_t a = 0; a < attributes.size(); ++a) attributes[a].bytes_on_device = bytes[a];
  prepared_ = false;
  if (under_way) start(epoch_, next_, stride_);
}

std::optional<Batch> Pipeline::next() {
  forget_parent();
  if (!run_) return std::nullopt;
  std::optional<Batch> batch = run_->next();
  if (batch) next_ = batch->number + stride_;
  return batch;
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
  stats.plan = plan_;
  stats.memory = options_.memory;
  stats.preparing = preparing_;
  stats.filling = past_filling_;
  stats.most_ahead = plan_.ahead.most_batches;
  const bool is_ours = process_ == process_id();
  if (run_ && is_ours) {
    stats.counts += run_->counts();
    stats.held = run_->held();
  }
  if (memory_ && is_ours) {
    const BatchMemory::Use use = memory_->use();
    stats.output_bytes = use.bytes;
    stats.pinned_bytes = use.pinned_bytes;
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
