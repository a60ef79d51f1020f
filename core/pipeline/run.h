// One pass over an epoch: threads that sample, read and assemble ahead of the caller.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/base/stage_log.h"
#include "core/gather/sweep.h"
#include "core/pipeline/batch.h"
#include "core/pipeline/batch_sampler.h"
#include "core/pipeline/budget.h"
#include "core/pipeline/packed_ids.h"
#include "core/pipeline/plan.h"
#include "core/pipeline/row_source.h"

namespace gz {

// Sums over runs. Seconds of threads are of all threads together.
struct RunCounts {
  std::uint64_t batches = 0;  // handed out
  std::uint64_t rows = 0;     // of finished batches
  // Of these and of batches on their way.
  std::uint64_t on_device_rows = 0;  // that are not handed out
  std::uint64_t mapped_rows = 0;     // through the page cache
  std::uint64_t cached_rows = 0;
  std::uint64_t unslotted_rows = 0;  // that found no room ahead and were read when needed
  double sampling = 0;
  double assembling = 0;
  double waited = 0;  // in next()
  Sweep::Counts sweep;

  RunCounts& operator+=(const RunCounts& more) {
    batches += more.batches;
    rows += more.rows;
    on_device_rows += more.on_device_rows;
    mapped_rows += more.mapped_rows;
    cached_rows += more.cached_rows;
    unslotted_rows += more.unslotted_rows;
    sampling += more.sampling;
    assembling += more.assembling;
    waited += more.waited;
    sweep += more.sweep;
    return *this;
  }
};

struct RunOptions {
  const BatchSampler* sampler = nullptr;
  std::vector<Attribute> attributes;
  std::deque<RowSource>* sources = nullptr;  // by attribute
  ReadAhead ahead;
  std::shared_ptr<BatchMemory> memory;
  Budget budget;
  StageLog* stages = nullptr;
  std::uint64_t epoch = 0;
  std::uint64_t first = 0;   // batch to begin with
  std::uint64_t stride = 1;  // of batch numbers, from there on
};

class Run {
 public:
  explicit Run(RunOptions options);
  // Stops at once, whatever is under way.
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // The batches in order; empty behind the last one. Waits, and lets Ctrl-C through. Throws what
  // went wrong with the batch whose turn it is; after that there are no more.
  std::optional<Batch> next();

  // Whether next() would not wait.
  bool is_ready() const;

  RunCounts counts() const;
  struct Held {
    std::size_t batches_ahead = 0;
    std::uint64_t window_bytes = 0;  // samples that wait
    std::uint64_t sweep_bytes = 0;   // slots and reads
  };
  Held held() const;

 private:
  struct Packed {
    struct Nodes {
      PackedIds nodes;
      PackedIds trees;
      std::vector<std::int64_t> per_hop;
    };
    struct Edges {
      PackedIds near;
      PackedIds far;
      PackedIds edges;
      std::vector<std::int64_t> per_hop;
    };
    std::vector<Nodes> types;
    std::vector<Edges> relations;

    std::uint64_t bytes() const;
    std::size_t unpacked_bytes() const;  // with each array aligned
  };
  enum class State { kSampling, kWaiting, kBeginning, kAssembling, kDone };
  // Rows `first` … of one attribute; the piece of no attribute is the sample itself.
  struct Piece {
    std::size_t attribute;
    std::size_t first;
    std::size_t count;
  };
  // A batch on its way.
  struct Entry {
    State state = State::kSampling;
    Packed packed;
    std::vector<PackedIds> rows;  // by attribute, where they are not the ids
    std::vector<std::optional<DeviceRowIndex>> device_index;  // by attribute
    std::vector<Misses> misses;                               // by attribute
    std::uint64_t due = 0;                                    // when the sweep has read them
    std::uint64_t bytes = 0;                                  // counted in the window
    Batch batch;
    BatchMemory::Block memory;     // of its rows, and of its ids if that is pinned
    std::size_t memory_taken = 0;  // bytes
    std::vector<Piece> pieces;
    std::size_t next_piece = 0;
    std::size_t pieces_left = 0;
    std::exception_ptr error;
  };
  // Wakes the threads of a run. Callbacks that may come after the run's end own it too.
  struct Wakeup {
    std::mutex mutex;
    std::condition_variable changed;
    std::condition_variable ready;
  };

  void work(std::size_t thread);
  bool work_once(std::unique_lock<std::mutex>& lock, std::size_t thread);
  bool can_sample();
  Entry* entry_to_assemble();
  void sample(Entry& entry);
  void begin(Entry& entry);
  void hand_out_ids(Entry& entry);
  IdArray ids_in(Entry& entry, std::size_t count);
  void assemble(Entry& entry, const Piece& piece);
  void count_rows(const Entry& entry);
  void finish(Entry& entry);
  const PackedIds& ids_of(const Entry& entry, std::size_t attribute) const;
  const PackedIds& rows_of(const Entry& entry, std::size_t attribute) const;
  bool has_next() const;
  void set_hurry();

  RunOptions options_;
  EpochOrder order_;
  std::uint64_t num_batches_;
  std::vector<std::size_t> sweep_source_;  // by attribute; of no use for mapped ones

  std::shared_ptr<Wakeup> wakeup_;
  std::deque<std::unique_ptr<Entry>> window_;  // the front is next to be handed out
  std::uint64_t next_number_;
  std::uint64_t window_bytes_ = 0;
  std::uint64_t sample_bytes_;
  std::size_t num_sampling_ = 0;
  bool next_waits_ = false;  // somebody is in next()
  bool over_ = false;
  RunCounts counts_;

  std::atomic<bool> stop_{false};
  std::unique_ptr<Sweep> sweep_;
  std::vector<std::thread> threads_;
};

}  // namespace gz
