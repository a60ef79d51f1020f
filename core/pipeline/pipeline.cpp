#include "core/pipeline/pipeline.h"

#include <stdexcept>
#include <utility>

#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/base/parallel.h"
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

}  // namespace

Pipeline::Pipeline(PipelineOptions options)
    : options_(std::move(options)),
      sampler_(options_.sampler),
      most_threads_(options_.threads > 0 ? options_.threads
                                         : static_cast<std::size_t>(num_threads())),
      process_(process_id()) {
  budget_.threads = most_threads_;
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

void Pipeline::prepare() {
  const Stopwatch watch;
  if (!allowance_) allowance_.emplace(options_.memory);
  // Those of a call that was interrupted make room for new ones.
  for (RowSource& source : sources_) source.set_cache(nullptr);
  {
    Preparation preparation(sampler_, options_.attributes, sources_);
    Needs wanted;
    wanted.memory = options_.memory;
    wanted.cache = options_.cache;
    wanted.threads = most_threads_;
    wanted.least_threads = options_.threads > 0 ? options_.threads : 1;
    budget_ = preparation.divide_memory(wanted);
    run_options_.ahead = preparation.read_ahead(budget_, options_.ahead);
  }
  for (RowSource& source : sources_) source.prepare();

  memory_ = std::make_shared<BatchMemory>(options_.pinning);
  memory_->keep(budget_.num_outputs);
  run_options_.sampler = &sampler_;
  run_options_.attributes = options_.attributes;
  run_options_.sources = &sources_;
  run_options_.memory = memory_;
  run_options_.budget = budget_;
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
  stats.preparing = preparing_;
  stats.most_ahead = run_options_.ahead.most_batches;
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
