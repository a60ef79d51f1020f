// Rows that batches will need, read by threads that sweep over the files again and again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
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
#include "core/gather/row_request.h"

namespace gz {

// Batches ask for rows long before they need them. Some threads pass over all files in order and
// read what any batch has asked for (the elevator algorithm of disk scheduling): rows of many
// batches that lie close together are one read. A row takes memory when it arrives; where there is
// too little, batches are served in the order of their numbers.
class Sweep {
 public:
  struct Source {
    std::shared_ptr<const DirectFile> file;
    RowLayout layout;
    std::uint64_t file_size = 0;  // what the layout was proven against
    std::uint64_t gap = 0;        // unneeded bytes that are read rather than making another read
  };

  struct Options {
    bool use_ring = true;
    std::size_t threads = 1;
    std::size_t read_bytes = 8 << 20;  // in flight, of all threads
    std::size_t chunks = 0;            // memory for rows that have arrived
    std::size_t chunk_bytes = 0;       // each at least a row of every source
    // Called with no lock held when rows of the first batch that is not ready, or the last rows of
    // any, have arrived, when memory is short, and when a read has failed.
    std::function<void()> on_progress;
    StageLog* stages = nullptr;  // outlives the sweep
  };

  Sweep(std::vector<Source> sources, Options options);
  // Waits for what is in flight.
  ~Sweep();
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  // Sections of a source with this many bytes of rows, among `total` bytes of all sources.
  static Sections sections_of(const RowLayout& layout, std::uint64_t total);

  // Asks for `rows`, which are below the number in the layout. Any thread.
  std::shared_ptr<RowRequest> request(std::size_t source, std::uint64_t batch,
                                      std::span<const std::int64_t> rows);
  // Its rows are no longer needed.
  void release(std::size_t source, std::shared_ptr<RowRequest> request);
  // The batch begins to take its rows.
  void protect(RowRequest& request);
  // A request has given back memory.
  void memory_came_back();

  // Throws what went wrong, if anything has.
  void check() const;

  struct Haste {
    std::uint64_t num_arrived = 0;  // when this was found out
    bool is_early = false;          // enough batches are ready: the sweep rests
    // Batches will give back memory without any help of the sweep. If so, it waits for that where
    // there is not enough for all. If not, the last batches give back what they have, to be read
    // again, and if there is too little for the first one alone, a section of it is left out.
    bool memory_comes = false;

    bool operator==(const Haste&) const = default;
  };
  void set_haste(Haste haste);
  // How often rows have arrived. What a batch knows from before that is no longer true.
  std::uint64_t num_arrived() const;

  // Whether rows that have arrived should be taken now, however few they are.
  bool is_short() const { return is_short_.load(std::memory_order_acquire); }

  // How often the files have been passed over since the beginning. Within a turn, sections count by
  // what has been asked for of them: when so much has passed, so much of a request has arrived.
  double turns() const;

  struct Counts {
    std::uint64_t rows = 0;  // that were read
    std::uint64_t row_bytes = 0;
    std::uint64_t reads = 0;
    std::uint64_t bytes = 0;
    std::uint64_t shared = 0;    // rows that were read for another batch, too
    std::uint64_t left_out = 0;  // rows of requests that became ready without them
    std::uint64_t dropped = 0;   // rows that were given back, to be read again
    std::uint64_t waits = 0;
    std::uint64_t in_flight = 0;  // summed over waits: divided by them, the depth of the queue
    double busy = 0;              // seconds not spent waiting for something to read

    Counts& operator+=(const Counts& more) {
      rows += more.rows;
      row_bytes += more.row_bytes;
      reads += more.reads;
      bytes += more.bytes;
      shared += more.shared;
      left_out += more.left_out;
      dropped += more.dropped;
      waits += more.waits;
      in_flight += more.in_flight;
      busy += more.busy;
      return *this;
    }
  };
  Counts counts() const;
  std::uint64_t memory_bytes() const;

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  struct Held {
    Source source;
    Sections sections;
    std::size_t first_section;
    std::vector<std::shared_ptr<RowRequest>> requests;  // that want something, by batch
  };
  using Read = ReadPlan::Read;
  struct Item {
    std::uint32_t offset;  // of the row in the section
    std::byte* to;
  };
  // A section that the sweep has reached.
  struct Visit {
    std::size_t source;
    std::size_t section;  // of the source
    std::vector<std::shared_ptr<RowRequest>> requests;
    RecycledVector<Item> items;   // by block of the file
    std::vector<Read> reads;      // first and last are items
    std::uint64_t different = 0;  // rows among the items
    std::size_t next = 0;         // read to start
    std::size_t done = 0;
  };

  void run(std::size_t thread);
  void sweep(std::size_t thread);
  std::unique_ptr<ReadQueue> queue(std::span<std::byte> memory) const;
  bool next_visit(bool may_wait, Visit& visit);
  enum class Found { kRows, kNothing, kWait };
  Found collect(Visit& visit, bool& any_left_out);
  std::uint64_t first_batch() const;
  bool drop_last(std::uint64_t first);
  void plan(Visit& visit) const;
  void copy_rows(Visit& visit, const Read& read, std::byte* bytes, int result);
  void arrived(Visit& visit);

  std::vector<Held> sources_;
  Options options_;
  std::shared_ptr<RowChunks> chunks_;
  std::size_t depth_;  // of each thread
  std::size_t room_;   // of one read
  std::uint64_t alignment_ = 1;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uint64_t> wanted_;  // rows that nobody has claimed, by section of all sources
  std::uint64_t num_wanted_ = 0;
  std::size_t num_visits_ = 0;        // under way
  std::size_t most_chunks_ = 0;       // that any section of any request needs
  std::uint64_t head_ = 0;            // number of the next section; sections repeat
  std::vector<std::uint64_t> asked_;  // rows so far, by section
  std::uint64_t num_asked_ = 0;
  std::uint64_t num_passed_ = 0;  // of these, of sections before the head
  Haste haste_;
  std::uint64_t num_arrived_ = 0;
  std::uint64_t told_short_ = kNever;  // num_arrived_ when batches were told that memory is short
  std::exception_ptr error_;
  Counts counts_;

  std::atomic<bool> is_short_{false};
  std::atomic<bool> failed_{false};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace gz
