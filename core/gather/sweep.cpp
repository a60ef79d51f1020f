#include "core/gather/sweep.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/base/stopwatch.h"

namespace gz {
namespace {

// One ring of this depth keeps the device as busy as two do (docs/design/gather.md).
constexpr std::size_t kDepth = 128;
// Larger reads bring hardly more bytes per second.
constexpr std::uint64_t kMostOfRead = 64 << 10;
constexpr std::size_t kMostMemory = 8 << 20;  // of all reads in flight
constexpr std::uint64_t kBlock = 4096;
// Sections of all files together: the finer, the earlier a batch learns that its rows were read.
constexpr std::uint64_t kSections = 1024;
constexpr std::uint64_t kLeastOfSection = 256 << 10;
// Completions that are worth waking up for: a wait that ends with each costs twice the time.
constexpr std::size_t kAtOnce = 32;

// Slots on their way into the cache while one is taken or given back.
constexpr std::size_t kAhead = 8;

std::uint64_t block_of(const DirectFile& file) { return std::max(kBlock, file.alignment()); }

}  // namespace

Sweep::Sweep(std::vector<Source> sources, bool use_ring, std::function<void()> on_progress,
             StageLog* stages)
    : use_ring_(use_ring), on_progress_(std::move(on_progress)), stages_(stages) {
  std::uint64_t total = 0;
  room_ = kMostOfRead;
  for (const Source& source : sources) {
    total += source.layout.num_rows * source.layout.row_bytes;
    const std::uint64_t block = block_of(*source.file);
    room_ = std::max(room_, (source.layout.row_bytes / block + 2) * block);
    alignment_ = std::max(alignment_, block);
  }
  room_ = (room_ + alignment_ - 1) / alignment_ * alignment_;
  depth_ = std::clamp<std::size_t>(kMostMemory / room_, 1, kDepth);
  const std::uint64_t of_section = std::max(total / kSections, kLeastOfSection);
  for (Source& source : sources) {
    const RowLayout& layout = source.layout;
    Held held;
    held.slots = std::make_unique<RowSlots>(source.slots, layout.row_bytes);
    held.first_section = sections_.size();
    held.rows_per_section = std::max<std::uint64_t>(of_section / layout.row_bytes, 1);
    held.source = std::move(source);
    // One at least: the sweep is somewhere even if there are no rows at all.
    const std::uint64_t last = std::max<std::uint64_t>(layout.num_rows, 1) - 1;
    sections_.resize(sections_.size() + last / held.rows_per_section + 1, {sources_.size(), {}});
    sources_.push_back(std::move(held));
  }
  thread_ = engine_thread(stop_, [this] { run(); });
}

Sweep::~Sweep() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Sweep::reserve(std::size_t source, std::span<const std::int64_t> rows, std::span<Slot> slots,
                    std::uint64_t& due) {
  Held& held = sources_[source];
  const std::lock_guard lock(mutex_);
  const std::uint64_t here = head_ % sections_.size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size())
      held.slots->prefetch_row(static_cast<std::uint64_t>(rows[i + kAhead]));
    const auto row = static_cast<std::uint64_t>(rows[i]);
    const auto [slot, is_first] = held.slots->take(row);
    slots[i] = slot;
    if (slot == RowSlots::kNone) continue;
    if (is_first) {
      const std::size_t section = held.first_section + row / held.rows_per_section;
      try {
        sections_[section].wanted.push_back({row, slot});
      } catch (...) {  // else others would share a row that is never read
        held.slots->give_back(slot);
        throw;
      }
      held.slots->due(slot) = head_ + (section + sections_.size() - here) % sections_.size();
      ++num_wanted_;
    } else {
      ++counts_.shared;
    }
    due = std::max(due, held.slots->due(slot) + 1);
  }
  changed_.notify_all();
}

void Sweep::release(std::size_t source, std::span<const Slot> slots) {
  RowSlots& held = *sources_[source].slots;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (i + kAhead < slots.size()) held.prefetch_slot(slots[i + kAhead]);
    if (slots[i] != RowSlots::kNone) held.give_back(slots[i]);
  }
}

std::size_t Sweep::num_free(std::size_t source) const {
  const std::lock_guard lock(mutex_);
  return sources_[source].slots->num_free();
}

bool Sweep::is_there(std::uint64_t due) const {
  if (complete_.load(std::memory_order_acquire) >= due) return true;
  if (failed_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(mutex_);
    std::rethrow_exception(error_);
  }
  return false;
}

void Sweep::set_hurry(bool hurry) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(hurry_, hurry) != hurry) changed_.notify_all();
}

Sweep::Counts Sweep::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::uint64_t Sweep::memory_bytes() const {
  std::uint64_t bytes = depth_ * room_;
  for (const Held& held : sources_) bytes += held.slots->bytes();
  return bytes;
}

void Sweep::run() {
  try {
    sweep();
  } catch (const Stopped&) {
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
    }
    failed_.store(true, std::memory_order_release);
    on_progress_();
  }
}

std::unique_ptr<ReadQueue> Sweep::queue(std::span<std::byte> memory) const {
  if (use_ring_) {
    try {
      const auto longest = std::max_element(
          sources_.begin(), sources_.end(),
          [](const Held& a, const Held& b) { return a.source.file_size < b.source.file_size; });
      return ring_queue(depth_, memory, *longest->source.file);
    } catch (const IoError&) {  // no memory or descriptors for it
    }
  }
  return thread_queue(depth_);
}

void Sweep::sweep() {
  const DirectMemory memory(depth_ * room_, alignment_);
  struct Started {
    Visit* visit = nullptr;  // null: nothing is on its way to this place
    std::size_t read = 0;
  };
  std::vector<Started> started(depth_);
  std::vector<std::size_t> idle(depth_);
  for (std::size_t i = 0; i < depth_; ++i) idle[i] = i;
  // Goes before the memory.
  std::unique_ptr<ReadQueue> queue = this->queue({memory.data(), depth_ * room_});
  std::array<IoRing::Done, kDepth> done;
  const auto start = [&](std::size_t place) {
    const Visit& visit = *started[place].visit;
    const Read& read = visit.reads[started[place].read];
    queue->read(*sources_[visit.source].source.file, memory.data() + place * room_,
                static_cast<unsigned>(read.length), read.offset, place);
  };

  while (true) {
    while (!idle.empty()) {
      if (visits_.empty() || visits_.back().next == visits_.back().reads.size()) {
        if (!visit_next(/*may_wait=*/queue->in_flight() == 0)) break;
      }
      const std::size_t place = idle.back();
      idle.pop_back();
      started[place] = {&visits_.back(), visits_.back().next++};
      start(place);
    }
    const Stopwatch watch;
    const std::size_t in_flight = queue->in_flight();
    const StageLog::Range range(stages_, Stage::kRead, 0, in_flight);
    std::size_t count = 0;
    try {
      count = queue->wait(done, std::min(kAtOnce, (in_flight + 1) / 2));
    } catch (const IoError&) {  // the kernel is short of something that plain reads do not need
      queue.reset();
      queue = thread_queue(depth_);
      for (std::size_t place = 0; place < depth_; ++place) {
        if (started[place].visit != nullptr) start(place);
      }
      continue;
    }
    for (const IoRing::Done& one : std::span(done).first(count)) {
      const auto [visit, read] = std::exchange(started[one.tag], {});
      finish(*visit, visit->reads[read], memory.data() + one.tag * room_, one.result);
      idle.push_back(one.tag);
    }
    {
      const std::lock_guard lock(mutex_);
      ++counts_.waits;
      counts_.in_flight += in_flight;
      counts_.busy += watch.seconds();
    }
    publish();
    check_interrupt();
  }
}

// Moves on to the next section where something is wanted. False if there is none for now.
bool Sweep::visit_next(bool may_wait) {
  Visit visit;
  {
    std::unique_lock lock(mutex_);
    while (true) {
      if (stop_) throw Stopped();
      const std::uint64_t section = head_ % sections_.size();
      if (num_wanted_ > 0 && (section > 0 || hurry_)) {
        if (!sections_[section].wanted.empty()) break;
        ++head_;
      } else if (may_wait) {
        lock.unlock();
        publish();
        lock.lock();
        const auto there = [&] {
          return stop_ || (num_wanted_ > 0 && (head_ % sections_.size() > 0 || hurry_));
        };
        changed_.wait(lock, there);
      } else {
        return false;
      }
    }
    visit.number = head_++;
    Section& section = sections_[visit.number % sections_.size()];
    visit.source = section.source;
    visit.wanted.swap(section.wanted);
    num_wanted_ -= visit.wanted.size();
  }
  plan(visit);
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t size = sources_[visit.source].source.layout.row_bytes;
    counts_.rows += visit.wanted.size();
    counts_.row_bytes += visit.wanted.size() * size;
    counts_.reads += visit.reads.size();
    for (const Read& read : visit.reads) counts_.bytes += read.needed;
  }
  visits_.push_back(std::move(visit));
  return true;
}

// Every row lies in one read.
void Sweep::plan(Visit& visit) const {
  const Source& source = sources_[visit.source].source;
  const RowLayout& layout = source.layout;
  const std::uint64_t block = block_of(*source.file);
  std::sort(visit.wanted.begin(), visit.wanted.end(),
            [](const Wanted& a, const Wanted& b) { return a.row < b.row; });
  for (std::size_t i = 0; i < visit.wanted.size(); ++i) {
    const std::uint64_t begin = layout.begin_of(visit.wanted[i].row) / block * block;
    const std::uint64_t end =
        (layout.begin_of(visit.wanted[i].row + 1) + block - 1) / block * block;
    if (!visit.reads.empty()) {
      Read& last = visit.reads.back();
      if (begin <= last.offset + last.length + source.gap && end - last.offset <= room_) {
        last.length = std::max(last.length, end - last.offset);
        last.last = i + 1;
        continue;
      }
    }
    visit.reads.push_back({begin, end - begin, 0, i, i + 1});
  }
  for (Read& read : visit.reads)
    read.needed = std::min(read.length, source.file_size - read.offset);
}

void Sweep::finish(Visit& visit, const Read& read, std::byte* bytes, int result) {
  const Held& held = sources_[visit.source];
  const RowLayout& layout = held.source.layout;
  // What failed or came short is tried once more by a call that goes on, or says what is wrong.
  held.source.file->read_at({bytes, read.length}, read.needed, read.offset,
                            static_cast<std::size_t>(std::max(result, 0)));
  for (std::size_t i = read.first; i < read.last; ++i) {
    const Wanted& wanted = visit.wanted[i];
    std::memcpy(held.slots->row(wanted.slot), bytes + (layout.begin_of(wanted.row) - read.offset),
                layout.row_bytes);
  }
  ++visit.done;
}

void Sweep::publish() {
  while (!visits_.empty() && visits_.front().done == visits_.front().reads.size())
    visits_.pop_front();
  std::uint64_t complete;
  {
    const std::lock_guard lock(mutex_);
    complete = visits_.empty() ? head_ : visits_.front().number;
  }
  if (complete == complete_.load(std::memory_order_relaxed)) return;
  complete_.store(complete, std::memory_order_release);
  on_progress_();
}

}  // namespace gz
