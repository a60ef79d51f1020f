#include "core/gather/direct_reader.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "core/base/error.h"
#include "core/base/io_ring.h"
#include "core/base/parallel.h"
#include "core/gather/read_cost.h"
#include "core/gather/read_queue.h"

namespace gz {
namespace {

// One ring of this depth on one thread gets from a device of 250,000 reads a second what it has to
// give, for half a core; two rings get no more (docs/design/gather.md). More cores often come with
// faster devices.
constexpr std::size_t kQueueDepth = 256;
constexpr std::size_t kThreadsPerRing = 4;
constexpr std::size_t kMostMemory = 16 << 20;  // of the buffers of one ring
constexpr std::size_t kFewestReads = 32;       // worth a ring of their own

// A wait costs as much as a read, so it is for many completions, but not for so many that the queue
// runs dry.
constexpr std::size_t kCompletionsAtOnce = 64;
std::size_t worth_waking_for(std::size_t in_flight) {
  return std::min<std::size_t>(32, in_flight / 4);
}

// Threads that each wait for one read at a time, so their number is the depth of the device's
// queue. Twice as many were slower on two cores.
constexpr std::size_t kThreads = 32;
constexpr std::size_t kFewestOfThread = 4;  // reads that are worth waking another thread

void read_in_turn(const DirectFile& file, const ReadPlan& plan,
                  std::span<const ReadPlan::Read> reads, std::byte* out) {
  const DirectMemory memory(plan.largest(), file.alignment());
  for (const ReadPlan::Read& read : reads) {
    file.read_at({memory.data(), read.length}, read.needed, read.offset);
    plan.copy_rows(read, memory.data(), out);
    check_interrupt();
  }
}

void read_by_threads(const DirectFile& file, const ReadPlan& plan,
                     std::span<const ReadPlan::Read> reads, std::byte* out) {
  const std::size_t grain =
      std::clamp<std::size_t>(reads.size() / (4 * kThreads), kFewestOfThread, 64);
  parallel_chunks(
      reads.size(), grain,
      [&](std::size_t begin, std::size_t end) {
        read_in_turn(file, plan, reads.subspan(begin, end - begin), out);
      },
      kThreads);
}

// Through one ring. A thread that gets none, for want of memory or descriptors, does without.
void read_part(const DirectFile& file, const ReadPlan& plan, std::span<const ReadPlan::Read> reads,
               std::byte* out) {
  const std::size_t room = plan.largest();
  const std::size_t depth =
      std::min({kQueueDepth, reads.size(), std::max<std::size_t>(kMostMemory / room, 1)});
  const DirectMemory memory(depth * room, file.alignment());
  std::unique_ptr<ReadQueue> ring;  // goes before the memory, and waits for what is in flight
  try {
    ring = ring_queue(depth, {memory.data(), depth * room}, file);
  } catch (const IoError&) {
    return read_by_threads(file, plan, reads, out);
  }

  std::vector<std::size_t> read_of(depth);  // by slot of the memory
  std::size_t next = 0;
  const auto buffer_of = [&](std::size_t slot) { return memory.data() + slot * room; };
  const auto start = [&](std::size_t slot) {
    const ReadPlan::Read& read = reads[next];
    read_of[slot] = next++;
    ring->read(file, buffer_of(slot), static_cast<unsigned>(read.length), read.offset, slot);
  };
  for (std::size_t slot = 0; slot < depth; ++slot) start(slot);

  std::array<IoRing::Done, kCompletionsAtOnce> done;
  while (ring->in_flight() > 0) {
    std::size_t count = 0;
    try {
      count = ring->wait(done, worth_waking_for(ring->in_flight()));
    } catch (const IoError&) {  // the kernel is short of something that plain reads do not need
      ring.reset();
      return read_by_threads(file, plan, reads, out);
    }
    for (const IoRing::Done& one : std::span(done).first(count)) {
      const ReadPlan::Read& read = reads[read_of[one.tag]];
      const auto have = static_cast<std::size_t>(std::max(one.result, 0));
      // What failed or came short is tried once more by a call that goes on, or says what is wrong.
      file.read_at({buffer_of(one.tag), read.length}, read.needed, read.offset, have);
      plan.copy_rows(read, buffer_of(one.tag), out);
      if (next < reads.size()) start(one.tag);
    }
    check_interrupt();
  }
}

}  // namespace

PlanOptions plan_options(const DirectFile& file, std::uint64_t file_size) {
  PlanOptions options;
  options.block = std::max(options.block, file.alignment());
  options.gap = read_gap(file, file_size);
  options.most = std::max({options.most, options.block, 2 * options.gap});
  return options;
}

DirectReader::DirectReader(std::shared_ptr<const DirectFile> file, const RowLayout& layout,
                           std::uint64_t file_size, const PlanOptions& options, By by)
    : file_(std::move(file)), layout_(layout), file_size_(file_size), options_(options), by_(by) {
  if (by_ == By::kRing) const IoRing probe(1);
}

GatherCounts DirectReader::gather(std::span<const std::int64_t> rows, std::byte* out) {
  const ReadPlan plan(rows, layout_, file_size_, options_);
  const auto reads = plan.reads();
  if (by_ == By::kThreads) {
    read_by_threads(*file_, plan, reads, out);
    return plan.counts();
  }
  // One part per ring: neighbouring reads stay together, and a ring is set up once.
  const auto rings =
      std::max<std::size_t>(static_cast<std::size_t>(num_threads()) / kThreadsPerRing, 1);
  const std::size_t grain = std::max((reads.size() + rings - 1) / rings, kFewestReads);
  parallel_chunks(reads.size(), grain, [&](std::size_t begin, std::size_t end) {
    read_part(*file_, plan, reads.subspan(begin, end - begin), out);
  });
  return plan.counts();
}

}  // namespace gz
