#include "core/gather/sweep.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <list>
#include <utility>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/base/stopwatch.h"

namespace gz {
namespace {

// One ring of this depth keeps the device as busy as two do (docs/design/gather.md).
constexpr std::size_t kDepth = 128;
constexpr std::uint64_t kBlock = 4096;
// Sections of all files together: the finer, the earlier a batch learns that its rows were read.
constexpr std::uint64_t kSections = 1024;
constexpr std::uint64_t kLeastOfSection = 256 << 10;
// Completions that are worth waking up for: a wait that ends with each costs twice the time.
constexpr std::size_t kAtOnce = 32;

std::uint64_t block_of(const DirectFile& file) { return std::max(kBlock, file.alignment()); }

}  // namespace

Sections Sweep::sections_of(const RowLayout& layout, std::uint64_t total) {
  const std::uint64_t bytes = std::max(total / kSections, kLeastOfSection);
  // Offsets have four bytes.
  const std::uint64_t rows = std::clamp<std::uint64_t>(bytes / layout.row_bytes, 1, 1u << 31);
  Sections sections;
  sections.shift = static_cast<unsigned>(std::bit_width(rows)) - 1;
  // One at least: the sweep is somewhere even if there are no rows at all.
  sections.count = sections.of(std::max<std::uint64_t>(layout.num_rows, 1) - 1) + 1;
  return sections;
}

Sweep::Sweep(std::vector<Source> sources, Options options)
    : options_(std::move(options)),
      chunks_(std::make_shared<RowChunks>(options_.chunks, options_.chunk_bytes)) {
  std::uint64_t total = 0;
  room_ = kMostOfRead;
  for (const Source& source : sources) {
    total += source.layout.num_rows * source.layout.row_bytes;
    const std::uint64_t block = block_of(*source.file);
    room_ = std::max<std::size_t>(room_, (source.layout.row_bytes / block + 2) * block);
    alignment_ = std::max(alignment_, block);
  }
  room_ = (room_ + alignment_ - 1) / alignment_ * alignment_;
  const std::size_t threads = std::max<std::size_t>(options_.threads, 1);
  depth_ = std::clamp<std::size_t>(options_.read_bytes / room_ / threads, 1, kDepth);
  for (Source& source : sources) {
    const Sections sections = sections_of(source.layout, total);
    sources_.push_back({std::move(source), sections, wanted_.size(), {}});
    wanted_.resize(wanted_.size() + sections.count);
  }
  asked_.resize(wanted_.size());
  for (std::size_t i = 0; i < threads; ++i)
    threads_.push_back(engine_thread(stop_, [this, i] { run(i); }));
}

Sweep::~Sweep() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::shared_ptr<RowRequest> Sweep::request(std::size_t source, std::uint64_t batch,
                                           std::span<const std::int64_t> rows) {
  Held& held = sources_[source];
  auto request = std::make_shared<RowRequest>(batch, rows, held.sections,
                                              held.source.layout.row_bytes, chunks_);
  if (rows.empty()) return request;
  {
    const std::lock_guard lock(mutex_);
    auto& requests = held.requests;
    const auto place =
        std::upper_bound(requests.begin(), requests.end(), batch,
                         [](std::uint64_t one, const auto& other) { return one < other->batch(); });
    requests.insert(place, request);
    for (std::size_t s = 0; s < held.sections.count; ++s) {
      const std::uint64_t count = request->end(s) - request->begin(s);
      wanted_[held.first_section + s] += count;
      asked_[held.first_section + s] += count;
      if (held.first_section + s < head_ % wanted_.size()) num_passed_ += count;
    }
    num_wanted_ += rows.size();
    num_asked_ += rows.size();
    most_chunks_ = std::max(most_chunks_, request->most_chunks_of_section());
  }
  changed_.notify_all();
  return request;
}

void Sweep::release(std::size_t source, std::shared_ptr<RowRequest> request) {
  {
    const std::lock_guard lock(mutex_);
    Held& held = sources_[source];
    if (std::erase(held.requests, request) > 0) {  // what nobody has claimed is wanted no longer
      for (std::size_t s = 0; s < held.sections.count; ++s) {
        if (!request->wants(s)) continue;
        wanted_[held.first_section + s] -= request->end(s) - request->begin(s);
        num_wanted_ -= request->end(s) - request->begin(s);
      }
    }
  }
  request.reset();
  memory_came_back();
}

void Sweep::protect(RowRequest& request) {
  const std::lock_guard lock(mutex_);
  request.protect();
}

void Sweep::memory_came_back() {
  {
    const std::lock_guard lock(mutex_);
  }
  changed_.notify_all();
}

void Sweep::check() const {
  if (!failed_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  std::rethrow_exception(error_);
}

void Sweep::set_haste(Haste haste) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(haste_, haste) != haste) changed_.notify_all();
}

std::uint64_t Sweep::num_arrived() const {
  const std::lock_guard lock(mutex_);
  return num_arrived_;
}

// The lowest that has asked for something and is not ready. Holds the lock.
std::uint64_t Sweep::first_batch() const {
  std::uint64_t first = ~std::uint64_t{0};
  for (const Held& held : sources_) {
    if (!held.requests.empty()) first = std::min(first, held.requests.front()->batch());
  }
  return first;
}

double Sweep::turns() const {
  const std::lock_guard lock(mutex_);
  const auto turns = static_cast<double>(head_ / wanted_.size());
  if (num_asked_ == 0) return turns;
  return turns + static_cast<double>(num_passed_) / static_cast<double>(num_asked_);
}

Sweep::Counts Sweep::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::uint64_t Sweep::memory_bytes() const {
  return threads_.size() * depth_ * room_ + chunks_->bytes();
}

void Sweep::run(std::size_t thread) {
  try {
    sweep(thread);
  } catch (const Stopped&) {
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
    failed_.store(true, std::memory_order_release);
    options_.on_progress();
  }
}

std::unique_ptr<ReadQueue> Sweep::queue(std::span<std::byte> memory) const {
  if (options_.use_ring) {
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

void Sweep::sweep(std::size_t thread) {
  const DirectMemory memory(depth_ * room_, alignment_);
  std::list<Visit> visits;  // the last one has reads that have not been started
  struct Started {
    std::list<Visit>::iterator visit;
    std::size_t read = 0;
    bool is_on_its_way = false;
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
      if (visits.empty() || visits.back().next == visits.back().reads.size()) {
        Visit visit;
        if (!next_visit(/*may_wait=*/queue->in_flight() == 0, visit)) break;
        visits.push_back(std::move(visit));
      }
      const std::size_t place = idle.back();
      idle.pop_back();
      started[place] = {std::prev(visits.end()), visits.back().next++, true};
      start(place);
    }
    const Stopwatch watch;
    const std::size_t in_flight = queue->in_flight();
    const StageLog::Range range(options_.stages, Stage::kRead, thread, in_flight);
    std::size_t count = 0;
    try {
      count = queue->wait(done, std::min(kAtOnce, (in_flight + 1) / 2));
    } catch (const IoError&) {  // the kernel is short of something that plain reads do not need
      queue.reset();
      queue = thread_queue(depth_);
      for (std::size_t place = 0; place < depth_; ++place) {
        if (started[place].is_on_its_way) start(place);
      }
      continue;
    }
    for (const IoRing::Done& one : std::span(done).first(count)) {
      Started& place = started[one.tag];
      place.is_on_its_way = false;
      Visit& visit = *place.visit;
      copy_rows(visit, visit.reads[place.read], memory.data() + one.tag * room_, one.result);
      idle.push_back(one.tag);
      if (visit.done < visit.reads.size()) continue;
      arrived(visit);
      visits.erase(place.visit);
    }
    {
      const std::lock_guard lock(mutex_);
      ++counts_.waits;
      counts_.in_flight += in_flight;
      counts_.busy += watch.seconds();
    }
    check_interrupt();
  }
}

// Moves on to the next section where something is wanted and finds memory. False if there is none
// for now.
bool Sweep::next_visit(bool may_wait, Visit& visit) {
  bool any_left_out = false, is_news = false;
  {
    std::unique_lock lock(mutex_);
    std::uint64_t start = head_;
    while (true) {
      if (stop_ || failed_.load(std::memory_order_relaxed)) throw Stopped();
      const bool is_all_passed = head_ - start == wanted_.size();
      Found found = Found::kWait;
      if (num_wanted_ > 0 && !is_all_passed && !haste_.is_early)
        found = collect(visit, any_left_out);
      if (found != Found::kWait) {
        num_passed_ += asked_[head_ % wanted_.size()];
        if (++head_ % wanted_.size() == 0) num_passed_ = 0;
      }
      if (found == Found::kRows) {
        ++num_visits_;
        break;
      }
      if (found == Found::kNothing) continue;
      if (is_all_passed) head_ = start;  // the same place, a turn before
      if (is_short_ && told_short_ != num_arrived_) {
        told_short_ = num_arrived_;
        is_news = true;
      }
      if (any_left_out || is_news || !may_wait) break;
      changed_.wait(lock);
      start = head_;
    }
  }
  is_news = is_news || any_left_out;
  if (is_news) options_.on_progress();
  if (visit.requests.empty()) return is_news && may_wait ? next_visit(may_wait, visit) : false;
  plan(visit);
  const std::lock_guard lock(mutex_);
  const std::uint64_t size = sources_[visit.source].source.layout.row_bytes;
  counts_.rows += visit.different;
  counts_.shared += visit.items.size() - visit.different;
  counts_.row_bytes += visit.different * size;
  counts_.reads += visit.reads.size();
  for (const Read& read : visit.reads) counts_.bytes += read.needed;
  return true;
}

// Claims what is wanted of the section at the head. Holds the lock.
Sweep::Found Sweep::collect(Visit& visit, bool& any_left_out) {
  const std::size_t at = head_ % wanted_.size();
  if (wanted_[at] == 0) return Found::kNothing;
  const auto next = std::upper_bound(
      sources_.begin(), sources_.end(), at,
      [](std::size_t section, const Held& held) { return section < held.first_section; });
  Held& held = *std::prev(next);
  const std::size_t section = at - held.first_section;
  // What the first batch may need of any section is not for the others.
  const std::uint64_t first = first_batch();
  const std::size_t reserved = most_chunks_;
  const auto needed = [&] {
    std::size_t chunks = reserved;
    for (const auto& request : held.requests) {
      if (request->wants(section) && request->batch() != first)
        chunks += request->chunks_needed(section);
    }
    return chunks;
  };
  const RowRequest& front = *held.requests.front();
  const bool is_for_first = front.batch() == first && front.wants(section);
  const std::size_t of_first = is_for_first ? front.chunks_needed(section) : 0;
  // Memory comes from batches that are assembled, and what is being read may be for one of these.
  const bool may_come =
      haste_.memory_comes || haste_.num_arrived != num_arrived_ || num_visits_ > 0;
  while (std::max(needed(), of_first) > chunks_->num_free()) {
    is_short_ = true;
    if (may_come) return Found::kWait;
    if (!drop_last(first)) break;
  }
  is_short_ = false;
  told_short_ = kNever;
  for (const auto& request : held.requests) {
    if (!request->wants(section)) continue;
    const std::uint64_t rows = request->end(section) - request->begin(section);
    const bool is_first = request->batch() == first;
    if (!is_first && request->chunks_needed(section) + reserved > chunks_->num_free()) continue;
    if (request->claim(section)) {
      visit.requests.push_back(request);
    } else if (is_first) {
      request->leave_out(section);
      counts_.left_out += rows;
      any_left_out = true;
    } else {
      continue;
    }
    wanted_[at] -= rows;
    num_wanted_ -= rows;
  }
  if (any_left_out) std::erase_if(held.requests, [](const auto& one) { return one->is_ready(); });
  visit.source = static_cast<std::size_t>(&held - sources_.data());
  visit.section = section;
  return visit.requests.empty() ? Found::kNothing : Found::kRows;
}

// The last batch that can gives back its memory: least has arrived for it. Holds the lock.
bool Sweep::drop_last(std::uint64_t first) {
  Held* of = nullptr;
  RowRequest* last = nullptr;
  for (Held& held : sources_) {
    const auto found = std::find_if(held.requests.rbegin(), held.requests.rend(),
                                    [](const auto& one) { return one->can_drop(); });
    if (found == held.requests.rend() || (*found)->batch() == first) continue;
    if (last != nullptr && last->batch() > (*found)->batch()) continue;
    of = &held;
    last = found->get();
  }
  if (last == nullptr) return false;
  last->drop([&](std::size_t section) {
    const std::uint64_t rows = last->end(section) - last->begin(section);
    wanted_[of->first_section + section] += rows;
    num_wanted_ += rows;
    counts_.dropped += rows;
  });
  return true;
}

// Groups rows by the block of the file they begin in. Every row lies in one read.
void Sweep::plan(Visit& visit) const {
  const Held& held = sources_[visit.source];
  const Source& source = held.source;
  const RowLayout& layout = source.layout;
  const std::uint64_t block = block_of(*source.file);
  const std::uint64_t first_row = held.sections.first_row(visit.section);
  const std::uint64_t rows =
      std::min(std::uint64_t{1} << held.sections.shift, layout.num_rows - first_row);
  const std::uint64_t base = layout.begin_of(first_row) / block;
  const auto block_at = [&](std::uint32_t offset) {
    return static_cast<std::size_t>(layout.begin_of(first_row + offset) / block - base);
  };
  struct Block {
    std::uint32_t end = 0;   // of its items
    std::uint32_t last = 0;  // offset of the last row
  };
  std::vector<Block> blocks(block_at(static_cast<std::uint32_t>(rows - 1)) + 2);
  std::vector<std::uint64_t> is_there(rows / 64 + 1);
  for (const auto& request : visit.requests) {
    for (std::uint32_t i = request->begin(visit.section); i < request->end(visit.section); ++i) {
      const std::uint32_t offset = request->offset(i);
      Block& of_row = blocks[block_at(offset) + 1];
      ++of_row.end;
      of_row.last = std::max(of_row.last, offset);
      std::uint64_t& marks = is_there[offset / 64];
      const std::uint64_t mark = std::uint64_t{1} << offset % 64;
      visit.different += (marks & mark) == 0 ? 1 : 0;
      marks |= mark;
    }
  }
  for (std::size_t b = 1; b < blocks.size(); ++b) {
    const std::size_t first = blocks[b - 1].end;
    const std::size_t last = first + blocks[b].end;
    blocks[b].end = static_cast<std::uint32_t>(last);
    if (first == last) continue;
    const std::uint64_t begin = (base + b - 1) * block;
    const std::uint64_t end =
        (layout.begin_of(first_row + blocks[b].last + 1) + block - 1) / block * block;
    if (!visit.reads.empty()) {
      Read& before = visit.reads.back();
      if (begin <= before.offset + before.length + source.gap && end - before.offset <= room_) {
        before.length = std::max(before.length, end - before.offset);
        before.last = last;
        continue;
      }
    }
    visit.reads.push_back({begin, end - begin, 0, first, last});
  }
  for (Read& read : visit.reads)
    read.needed = std::min(read.length, source.file_size - read.offset);
  visit.items.resize(blocks.back().end);
  for (const auto& request : visit.requests) {
    for (std::uint32_t i = request->begin(visit.section); i < request->end(visit.section); ++i) {
      const std::uint32_t offset = request->offset(i);
      visit.items[blocks[block_at(offset)].end++] = {offset, request->place(i)};
    }
  }
}

void Sweep::copy_rows(Visit& visit, const Read& read, std::byte* bytes, int result) {
  const Held& held = sources_[visit.source];
  const RowLayout& layout = held.source.layout;
  // What failed or came short is tried once more by a call that goes on, or says what is wrong.
  held.source.file->read_at({bytes, read.length}, read.needed, read.offset,
                            static_cast<std::size_t>(std::max(result, 0)));
  const std::uint64_t first_row = held.sections.first_row(visit.section);
  for (std::size_t i = read.first; i < read.last; ++i) {
    const Item& item = visit.items[i];
    std::memcpy(item.to, bytes + (layout.begin_of(first_row + item.offset) - read.offset),
                layout.row_bytes);
  }
  ++visit.done;
}

void Sweep::arrived(Visit& visit) {
  bool is_news = false;
  {
    const std::lock_guard lock(mutex_);
    --num_visits_;
    ++num_arrived_;
    const std::uint64_t first = first_batch();
    auto& requests = sources_[visit.source].requests;
    for (const auto& request : visit.requests) {
      request->arrive(visit.section);
      is_news = is_news || request->is_ready() || request->batch() == first;
      if (request->is_ready()) std::erase(requests, request);
    }
  }
  changed_.notify_all();
  if (is_news) options_.on_progress();
}

}  // namespace gz
