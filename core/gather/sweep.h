// Rows that batches will need, read by a thread that sweeps over the files again and again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "core/base/direct_file.h"
#include "core/base/stage_log.h"
#include "core/gather/read_plan.h"
#include "core/gather/read_queue.h"
#include "core/gather/row_reader.h"
#include "core/gather/row_slots.h"

namespace gz {

// Batches reserve rows long before they need them. The sweep passes over all files in order and
// reads what any batch has reserved (the elevator algorithm of disk scheduling): rows of many
// batches that lie close together are one read, and a row that several need is read once and kept
// until the last of them is done.
class Sweep {
 public:
  using Slot = RowSlots::Slot;

  struct Source {
    std::shared_ptr<const DirectFile> file;
    RowLayout layout;
    std::uint64_t file_size = 0;  // what the layout was proven against
    std::uint64_t gap = 0;        // unneeded bytes that are read rather than making another read
    std::size_t slots = 0;        // rows that can be reserved at a time
  };

  // `on_progress` is called by the sweeping thread, with no lock held, whenever rows have arrived
  // or a read has failed. `stages` outlives the sweep.
  Sweep(std::vector<Source> sources, bool use_ring, std::function<void()> on_progress,
        StageLog* stages = nullptr);
  // Waits for what is in flight.
  ~Sweep();
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  // Finds each row a slot, or RowSlots::kNone when they are all taken, and raises `due` to the
  // moment when all of them will be there. Rows are below the number in the layout. Any thread.
  void reserve(std::size_t source, std::span<const std::int64_t> rows, std::span<Slot> slots,
               std::uint64_t& due);
  // Once for every slot that was reserved and is not RowSlots::kNone.
  void release(std::size_t source, std::span<const Slot> slots);
  std::size_t num_free(std::size_t source) const;

  // Whether all rows reserved under `due` have been read. Rethrows what went wrong.
  bool is_there(std::uint64_t due) const;
  const std::byte* row(std::size_t source, Slot slot) const {
    return sources_[source].slots->row(slot);
  }

  // With `hurry` a sweep begins as soon as the last one has ended. Without, the next one waits: the
  // longer it does, the more rows it finds side by side.
  void set_hurry(bool hurry);

  struct Counts {
    std::uint64_t rows = 0;  // that were read
    std::uint64_t row_bytes = 0;
    std::uint64_t reads = 0;
    std::uint64_t bytes = 0;
    std::uint64_t shared = 0;  // rows that were reserved and had been already
    std::uint64_t waits = 0;
    std::uint64_t in_flight = 0;  // summed over waits: divided by them, the depth of the queue
    double busy = 0;              // seconds not spent waiting for something to read

    Counts& operator+=(const Counts& more) {
      rows += more.rows;
      row_bytes += more.row_bytes;
      reads += more.reads;
      bytes += more.bytes;
      shared += more.shared;
      waits += more.waits;
      in_flight += more.in_flight;
      busy += more.busy;
      return *this;
    }
  };
  Counts counts() const;
  std::uint64_t memory_bytes() const;

 private:
  struct Wanted {
    std::uint64_t row;
    Slot slot;
  };
  // A part of a file.
  struct Section {
    std::size_t source;
    std::vector<Wanted> wanted;
  };
  struct Held {
    Source source;
    std::unique_ptr<RowSlots> slots;
    std::size_t first_section;
    std::uint64_t rows_per_section;
  };
  using Read = ReadPlan::Read;
  // A section that the sweep has reached.
  struct Visit {
    std::uint64_t number;
    std::size_t source;
    std::vector<Wanted> wanted;
    std::vector<Read> reads;
    std::size_t next = 0;  // read to start
    std::size_t done = 0;
  };

  void run();
  void sweep();
  std::unique_ptr<ReadQueue> queue(std::span<std::byte> memory) const;
  bool visit_next(bool may_wait);
  void plan(Visit& visit) const;
  void finish(Visit& visit, const Read& read, std::byte* bytes, int result);
  void publish();

  std::vector<Held> sources_;
  bool use_ring_;
  std::function<void()> on_progress_;
  StageLog* stages_;
  std::size_t depth_;
  std::size_t room_;  // of one read
  std::uint64_t alignment_ = 1;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Section> sections_;
  std::size_t num_wanted_ = 0;
  std::uint64_t head_ = 0;  // number of the next visit; sections repeat
  bool hurry_ = true;
  std::exception_ptr error_;
  Counts counts_;

  std::deque<Visit> visits_;                // of the sweeping thread alone
  std::atomic<std::uint64_t> complete_{0};  // visits below are done
  std::atomic<bool> failed_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace gz
