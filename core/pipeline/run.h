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
#include "core/base/stopwatch.h"
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
  double sampling = 0;
  double assembling = 0;
  double waited = 0;  // in next()
  double away = 0;    // of the caller, between one batch and the next
  GatherCounts late;  // of rows that batches read themselves; among those of the sweep at the end
  Sweep::Counts sweep;

  RunCounts& operator+=(const RunCounts& more) {
    batches += more.batches;
    rows += more.rows;
    on_device_rows += more.on_device_rows;
    mapped_rows += more.mapped_rows;
    cached_rows += more.cached_rows;
    sampling += more.sampling;
    assembling += more.assembling;
    waited += more.waited;
    away += more.away;
    sweep += more.sweep;
    return *this;
  }
};

struct RunOptions {
  const BatchSampler* sampler = nullptr;
  std::vector<Attribute> attributes;
  std::deque<RowSource>* sources = nullptr;  // by attribute; their caches are filled on the way
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
    std::uint64_t sweep_bytes = 0;   // rows that have arrived, and reads
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
      bool have_positions = false;  // for ids, which may be asked for later
    };
    std::vector<Nodes> types;
    std::vector<Edges> relations;

    std::uint64_t bytes() const;
    std::size_t unpacked_bytes() const;  // with each array aligned
  };
  enum class State { kSampling, kWaiting, kBeginning, kAssembling, kDone };
  // Rows `first` … of one attribute that are mapped or cached; of no attribute, ids of the sample.
  // Or sections of what was missed.
  struct Piece {
    std::size_t attribute;
    std::size_t first = 0;
    std::size_t count = 0;
    std::vector<RowRequest::Part> missed = {};
  };
  // Ids of a batch, and where they go.
  struct IdCopy {
    const PackedIds* from;
    std::int64_t* to;
  };
  // A batch on its way.
  struct Entry {
    State state = State::kSampling;
    Packed packed;
    std::vector<PackedIds> rows;  // by attribute, where they are not the ids
    std::vector<std::optional<DeviceRowIndex>> device_index;  // by attribute
    std::vector<Misses> misses;                               // by attribute
    bool is_kept = true;      // else it is drawn again when it comes near the front
    std::uint64_t bytes = 0;  // counted in the window
    Batch batch;
    BatchMemory::Block memory;     // of its rows, and of its ids if that is pinned
    std::size_t memory_taken = 0;  // bytes
    std::vector<IdCopy> ids;       // into `packed`
    std::vector<Piece> pieces;     // of what is not missed
    std::size_t next_piece = 0;
    std::size_t num_busy = 0;  // pieces that threads are at
    std::exception_ptr error;
  };
  // What a finished batch no longer needs. Large blocks are given back without the lock.
  struct Leftover {
    Packed packed;
    std::vector<PackedIds> rows;
    std::vector<std::optional<DeviceRowIndex>> device_index;
    std::vector<Misses> misses;
  };
  // Wakes the threads of a run, one at a time: who finds more to do than one thread takes calls the
  // next one. Callbacks that may come after the run's end own it too.
  struct Wakeup {
    std::mutex mutex;
    std::condition_variable changed;
    std::condition_variable ready;
    std::size_t num_idle = 0;    // threads in wait(),
    std::size_t num_called = 0;  // and of these, how many have been called

    // Under the lock. Whether there is a thread to call; then notify `changed` once, with or
    // without the lock.
    bool call() {
      if (num_called >= num_idle) return false;
      ++num_called;
      return true;
    }
    void wait(std::unique_lock<std::mutex>& lock) {
      ++num_idle;
      changed.wait(lock);
      --num_idle;
      if (num_called > 0) --num_called;
    }
  };

  void work(std::size_t thread);
  bool work_once(std::unique_lock<std::mutex>& lock, std::size_t thread);
  bool assemble_some(std::unique_lock<std::mutex>& lock, std::size_t thread);
  bool begin_one(std::unique_lock<std::mutex>& lock, std::size_t thread);
  bool sample_one(std::unique_lock<std::mutex>& lock, std::size_t thread);
  bool fill_some(std::unique_lock<std::mutex>& lock, std::size_t thread);
  template <class Body>
  std::exception_ptr unlocked(std::unique_lock<std::mutex>& lock, std::size_t thread, Stage stage,
                              std::uint64_t batch, Body&& body);
  void unlock(std::unique_lock<std::mutex>& lock);
  bool tidy(std::unique_lock<std::mutex>& lock);
  bool has_work();
  bool can_fill() const;
  bool can_sample();
  Entry* entry_to_begin() const;
  bool is_near(const Entry& entry) const;
  Entry* entry_to_draw_again();
  RunCounts sample(Entry& entry);
  void begin(Entry& entry);
  bool can_copy_next(const Entry& entry) const;
  std::uint64_t worth_taking(std::size_t attribute) const;
  std::optional<std::size_t> missed_to_take(const Entry& entry) const;
  bool has_piece(const Entry& entry) const;
  Piece take_piece(Entry& entry) const;
  bool is_assembled(const Entry& entry) const;
  void note_failures();
  void begin_ids(Entry& entry);
  IdArray ids_in(Entry& entry, std::size_t count, bool not_copied = false);
  void unpack_ids(const Entry& entry, const Piece& piece);
  GatherCounts assemble(Entry& entry, const Piece& piece);
  void finish(Entry& entry);
  const PackedIds& ids_of(const Entry& entry, std::size_t attribute) const;
  const PackedIds& rows_of(const Entry& entry, std::size_t attribute) const;
  bool has_next() const;
  bool is_there(const Entry& entry) const;
  void set_haste();

  RunOptions options_;
  EpochOrder order_;
  std::uint64_t num_batches_;
  std::vector<std::size_t> sweep_source_;  // by attribute; of no use for mapped ones

  std::shared_ptr<Wakeup> wakeup_;
  std::deque<std::unique_ptr<Entry>> window_;  // the front is next to be handed out
  std::uint64_t next_number_;
  std::uint64_t window_bytes_ = 0;
  std::uint64_t sample_bytes_;
  std::uint64_t sample_room_;  // of the window, what samples may take
  double joins_left_ = 0;      // batches that may be sampled while the sweep is here
  double turns_ = 0;           // of the sweep, when that was counted
  std::uint64_t dropped_ = 0;  // rows, by the sweep, at that time
  std::size_t num_sampling_ = 0;
  std::vector<Leftover> leftovers_;
  bool next_waits_ = false;   // somebody is in next(),
  bool next_is_due_ = false;  // and has to be told
  bool over_ = false;
  std::exception_ptr fill_error_;
  std::optional<Stopwatch> since_last_;  // batch that was handed out
  RunCounts counts_;

  std::atomic<bool> stop_{false};
  std::unique_ptr<Sweep> sweep_;
  std::vector<std::thread> threads_;
};

}  // namespace gz
