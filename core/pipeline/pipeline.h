// Batches from disk: sampled, their rows fetched, in order, inside one memory budget.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/recycled_memory.h"
#include "core/base/stage_log.h"
#include "core/gather/reader_choice.h"
#include "core/pipeline/batch.h"
#include "core/pipeline/batch_sampler.h"
#include "core/pipeline/preparation.h"
#include "core/pipeline/row_source.h"
#include "core/pipeline/run.h"

namespace gz {

struct PipelineOptions {
  SamplerOptions sampler;
  std::vector<Attribute> attributes;
  ReaderKind reader = ReaderKind::kAuto;
  std::uint64_t memory = 0;            // for all that the pipeline holds
  std::optional<std::uint64_t> cache;  // of it, for rows that stay; empty: what is left over
  std::optional<std::size_t> ahead;    // batches; empty: as many as fit
  std::size_t threads = 0;             // 0: num_threads()
  Pinning pinning;                     // of the memory that batches are handed out in
};

struct PipelineStats {
  RunCounts counts;
  Plan plan;
  std::uint64_t memory = 0;
  std::size_t threads = 0;
  std::size_t most_ahead = 0;  // batches
  // Bytes held now.
  std::uint64_t cache_bytes = 0;
  Run::Held held;
  std::uint64_t output_bytes = 0;
  std::uint64_t pinned_bytes = 0;  // of these
  double preparing = 0;            // seconds before the first batch: choosing and filling caches
  GatherCounts filling;            // of the caches
  struct Source {
    ReaderChoice choice;
    std::uint64_t cached_rows = 0;
    std::uint64_t num_rows = 0;
  };
  std::vector<Source> sources;  // by attribute
};

// Used by one thread at a time. The batches are the same for every reader, budget and number of
// threads.
class Pipeline {
 public:
  // Throws std::out_of_range, std::invalid_argument for seeds and options that make no sense, or an
  // attribute that has another number of rows than there are nodes or edges.
  explicit Pipeline(PipelineOptions options);
  ~Pipeline();

  std::uint64_t num_batches() const { return sampler_.num_batches(); }
  const SamplerOptions& sampling() const { return sampler_.options(); }

  // Of all epochs that begin from now on.
  void set_seed(std::uint64_t seed);

  // Of all epochs that begin from now on.
  void arrange(Arrangement arrangement);

  // For a start() that found it too little.
  void set_memory(std::uint64_t memory) {
    options_.memory = memory;
    allowance_.reset();
  }

  // Samples some batches to see how large they are and divides the memory, unless that is done.
  // Throws std::invalid_argument if the memory is too little, IoError, MemoryShortage.
  void prepare();
  // Begins an epoch at batch `first`; every `stride`-th batch follows. A run that is under way
  // ends. Calls prepare().
  void start(std::uint64_t epoch, std::uint64_t first, std::uint64_t stride);
  // How many bytes of rows, as they are handed out, the device has room for from now on, by
  // attribute. A run that is under way goes on with its next batch. Throws what start() throws, and
  // is over then.
  void set_device_room(std::span<const std::uint64_t> bytes);
  // The next batch; empty behind the last one, and without a start().
  std::optional<Batch> next();
  // Whether next() would not wait.
  bool is_ready() const;
  void stop();

  PipelineStats stats() const;

  // Whether what the threads do is noted from now on.
  void log_stages(bool on);
  // What has been noted in this process.
  StageLog::Events stages() const;

  // The rows of the file that are on the device, in the order of their slots. Known after
  // prepare().
  const RowSet& on_device(std::size_t attribute) const { return sources_[attribute].on_device(); }

 private:
  void forget_parent();
  void make_batch_memory();

  // Goes last: what the others held does not wait for another call.
  std::optional<BlockAllowance> allowance_;
  IdleRoom idle_room_;
  PipelineOptions options_;
  BatchSampler sampler_;
  std::deque<RowSource> sources_;
  std::size_t num_threads_;

  bool prepared_ = false;
  double preparing_ = 0;
  Plan plan_;
  RunOptions run_options_;
  std::shared_ptr<BatchMemory> memory_;
  std::unique_ptr<StageLog> stages_ = std::make_unique<StageLog>();
  std::unique_ptr<Run> run_;
  std::uint64_t epoch_ = 0;  // of run_
  std::uint64_t next_ = 0;   // the batch that run_ hands out next
  std::uint64_t stride_ = 1;
  RunCounts past_;             // of runs that are over
  GatherCounts past_filling_;  // of caches that are gone
  long process_;               // that run_ belongs to
};

}  // namespace gz
