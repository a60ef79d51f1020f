#include "core/pipeline/run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <system_error>
#include <utility>

#include "core/base/parallel.h"
#include "core/base/stopwatch.h"

namespace gz {
namespace {

constexpr auto kPollEvery = std::chrono::milliseconds(50);

// How much of a batch a thread takes at a time: long enough that asking for the next costs nothing,
// short enough that several threads end together.
constexpr std::size_t kPieceBytes = 512 << 10;
constexpr std::size_t kSample = ~std::size_t{0};  // the piece that is no attribute

constexpr std::size_t kIdsAtOnce = 512;

// Arrays begin at lines of their own.
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

std::uint64_t Run::Packed::bytes() const {
  std::uint64_t sum = 0;
  for (const Nodes& type : types) sum += type.nodes.bytes() + type.trees.bytes();
  for (const Edges& relation : relations)
    sum += relation.near.bytes() + relation.far.bytes() + relation.edges.bytes();
  return sum;
}

std::size_t Run::Packed::unpacked_bytes() const {
  const auto size = [](std::size_t ids) { return aligned(ids * sizeof(std::int64_t)); };
  std::size_t sum = 0;
  for (const Nodes& type : types) sum += size(type.nodes.size()) + size(type.trees.size());
  for (const Edges& relation : relations)
    sum += size(2 * relation.near.size()) + size(relation.edges.size());
  return sum;
}

Run::Run(RunOptions options)
    : options_(std::move(options)),
      order_(options_.sampler->order(options_.epoch)),
      num_batches_(options_.sampler->num_batches()),
      wakeup_(std::make_shared<Wakeup>()),
      next_number_(options_.first),
      sample_bytes_(options_.ahead.sample_bytes) {
  const auto wake = [wakeup = wakeup_] {
    {
      const std::lock_guard lock(wakeup->mutex);
    }
    wakeup->changed.notify_all();
  };
  std::vector<Sweep::Source> swept;
  bool use_ring = true;
  for (std::size_t a = 0; a < options_.attributes.size(); ++a) {
    const RowSource& source = (*options_.sources)[a];
    sweep_source_.push_back(swept.size());
    if (source.is_mapped()) continue;
    use_ring = use_ring && source.choice().kind == ReaderKind::kDirect;
    swept.push_back(source.for_sweep());
    swept.back().slots = options_.ahead.rows[a].slots;
  }
  if (!swept.empty())
    sweep_ = std::make_unique<Sweep>(std::move(swept), use_ring, wake, options_.stages);
  options_.memory->set_on_return(wake);
  try {
    for (std::size_t i = 0; i < options_.budget.threads; ++i)
      threads_.push_back(engine_thread(stop_, [this, i] { work(i); }));
  } catch (const std::system_error&) {
    if (threads_.empty()) throw;  // fewer than wanted will do
  }
}

Run::~Run() {
  options_.memory->set_on_return({});
  {
    const std::lock_guard lock(wakeup_->mutex);
    stop_ = true;
  }
  wakeup_->changed.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Run::work(std::size_t thread) {
  std::unique_lock lock(wakeup_->mutex);
  while (!stop_) {
    if (!work_once(lock, thread)) wakeup_->changed.wait(lock);
  }
}

// Does the most urgent thing there is to do. False if there is none.
bool Run::work_once(std::unique_lock<std::mutex>& lock, std::size_t thread) {
  Entry* assembled = nullptr;
  for (const auto& entry : window_) {
    if (entry->state == State::kAssembling && entry->next_piece < entry->pieces.size()) {
      assembled = entry.get();
      break;
    }
  }
  const auto guard = [&](Entry& entry, Stage stage, auto&& body) {
    lock.unlock();
    std::exception_ptr error;
    try {
      const StageLog::Range range(options_.stages, stage, thread, entry.batch.number);
      body();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error && !entry.error) entry.error = error;
  };

  if (assembled == nullptr) {
    if (Entry* const entry = entry_to_assemble()) {
      entry->state = State::kBeginning;
      guard(*entry, Stage::kBegin, [&] { begin(*entry); });
      entry->state = State::kAssembling;
      if (entry->error) entry->pieces.clear();
      entry->pieces_left = entry->pieces.size();
      if (entry->error) finish(*entry);
      wakeup_->changed.notify_all();
      return true;
    }
  } else {
    const Piece piece = assembled->pieces[assembled->next_piece++];
    const Stopwatch watch;
    guard(*assembled, Stage::kAssemble, [&] { assemble(*assembled, piece); });
    counts_.assembling += watch.seconds();
    if (--assembled->pieces_left == 0) finish(*assembled);
    return true;
  }

  if (can_sample()) {
    window_.push_back(std::make_unique<Entry>());
    Entry& entry = *window_.back();
    entry.batch.number = std::exchange(next_number_, next_number_ + options_.stride);
    entry.bytes = sample_bytes_;
    window_bytes_ += entry.bytes;
    ++num_sampling_;
    const Stopwatch watch;
    guard(entry, Stage::kSample, [&] { sample(entry); });
    counts_.sampling += watch.seconds();
    --num_sampling_;
    window_bytes_ -= entry.bytes;
    entry.bytes = entry.packed.bytes();
    for (const PackedIds& rows : entry.rows) entry.bytes += rows.bytes();
    for (const auto& index : entry.device_index)
      if (index) entry.bytes += 4 * index->slots.size() + 8 * index->places.size();
    window_bytes_ += entry.bytes;
    sample_bytes_ = std::max(sample_bytes_, entry.bytes);
    for (std::size_t a = 0; a < entry.misses.size(); ++a) {
      double& most = options_.ahead.rows[a].misses_per_batch;
      most = std::max(most, static_cast<double>(entry.misses[a].slots.size()));
    }
    entry.state = State::kWaiting;
    if (entry.error) {
      finish(entry);
    } else {
      count_rows(entry);
    }
    set_hurry();
    wakeup_->changed.notify_all();
    return true;
  }
  return false;
}

bool Run::can_sample() {
  if (over_ || next_number_ >= num_batches_) return false;
  if (window_.empty()) return true;
  if (window_.size() >= options_.ahead.most_batches + options_.budget.num_outputs) return false;
  if (window_bytes_ + sample_bytes_ > options_.budget.window) return false;
  // A batch whose rows find no room ahead would read them one batch at a time.
  for (std::size_t a = 0; a < options_.attributes.size(); ++a) {
    if ((*options_.sources)[a].is_mapped()) continue;
    const ReadAhead::Rows& rows = options_.ahead.rows[a];
    const double of_batch =
        std::min(rows.misses_per_batch * rows.fresh_share, static_cast<double>(rows.slots));
    const double wanted = of_batch * static_cast<double>(num_sampling_ + 1);
    if (static_cast<double>(sweep_->num_free(sweep_source_[a])) < wanted) return false;
  }
  return true;
}

// Batches are begun in order, when their rows have been read and there is memory to put them in. If
// the caller holds all of that and waits for another batch, it gets more.
Run::Entry* Run::entry_to_assemble() {
  std::size_t held = 0;
  for (const auto& entry : window_) {
    if (entry->state == State::kSampling) return nullptr;
    if (entry->state != State::kWaiting) {
      ++held;
      continue;
    }
    try {
      if (sweep_ && !sweep_->is_there(entry->due)) return nullptr;
    } catch (...) {
      entry->error = std::current_exception();
      return entry.get();
    }
    const bool room = options_.memory->use().num_out < options_.budget.num_outputs;
    return room || (next_waits_ && held == 0) ? entry.get() : nullptr;
  }
  return nullptr;
}

const PackedIds& Run::ids_of(const Entry& entry, std::size_t attribute) const {
  const Attribute& wanted = options_.attributes[attribute];
  return wanted.of_edges ? entry.packed.relations[wanted.of].edges
                         : entry.packed.types[wanted.of].nodes;
}

const PackedIds& Run::rows_of(const Entry& entry, std::size_t attribute) const {
  const RowSource& source = (*options_.sources)[attribute];
  const bool are_ids = !source.features().is_reordered() && source.on_device().count() == 0;
  return are_ids ? ids_of(entry, attribute) : entry.rows[attribute];
}

void Run::sample(Entry& entry) {
  SampledBatch sampled = options_.sampler->sample(order_, options_.epoch, entry.batch.number);
  entry.misses.resize(options_.attributes.size());
  entry.rows.resize(options_.attributes.size());
  entry.device_index.resize(options_.attributes.size());
  for (std::size_t a = 0; a < options_.attributes.size(); ++a) {
    const RowSource& source = (*options_.sources)[a];
    std::span<const std::int64_t> rows = options_.attributes[a].ids_in(sampled.hood);
    Buffer<std::int64_t> translated;
    if (source.features().is_reordered()) {
      source.translate(rows, {translated.extend(rows.size()), rows.size()});
      rows = translated.span();
    }
    RecycledVector<std::int64_t> on_host;
    if (source.on_device().count() > 0) {
      on_host = source.host_rows(rows, entry.device_index[a].emplace());
      rows = on_host;
    }
    if (source.features().is_reordered() || entry.device_index[a]) entry.rows[a] = PackedIds(rows);
    if (source.is_mapped()) continue;
    Misses& misses = entry.misses[a];
    const RecycledVector<std::int64_t> missed = source.find_misses(rows, misses);
    misses.slots.resize(missed.size());
    sweep_->reserve(sweep_source_[a], missed, misses.slots, entry.due);
  }
  for (SampledNodes& type : sampled.hood.types) {
    entry.packed.types.push_back(
        {PackedIds(type.nodes.span()), PackedIds(type.trees.span()), std::move(type.per_hop)});
  }
  for (SampledEdges& relation : sampled.hood.relations) {
    entry.packed.relations.push_back(
        {PackedIds(relation.near.span()), PackedIds(relation.far.span()),
         PackedIds(relation.edges.span()), std::move(relation.per_hop)});
  }
  sampled.hood = {};
  entry.batch.sampled = std::move(sampled);
}

// Finds memory for all attributes of a batch, and cuts them into pieces.
void Run::begin(Entry& entry) {
  if (entry.error) return;
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
  for (std::size_t a = 0; a < options_.attributes.size(); ++a) {
    offsets.push_back(bytes);
    bytes += aligned(rows_of(entry, a).size() * (*options_.sources)[a].copy().out_bytes());
  }
  entry.memory_taken = bytes;
  if (options_.memory->is_pinned()) bytes += entry.packed.unpacked_bytes();
  entry.memory = options_.memory->take(bytes);
  const BatchMemory::Block& memory = entry.memory;
  std::vector<Piece> pieces = {{kSample, 0, 0}};
  for (std::size_t a = 0; a < options_.attributes.size(); ++a) {
    const std::size_t count = rows_of(entry, a).size();
    entry.batch.rows.push_back(
        {memory.get() + offsets[a], count, memory, std::move(entry.device_index[a])});
    const std::uint64_t size = (*options_.sources)[a].copy().out_bytes();
    const std::size_t at_once =
        std::max<std::size_t>(kPieceBytes / std::max<std::uint64_t>(size, 1), 64);
    for (std::size_t first = 0; first < count; first += at_once)
      pieces.push_back({a, first, std::min(at_once, count - first)});
  }
  entry.pieces = std::move(pieces);
}

// All that a batch has is copied to the device, so if memory is pinned, ids are in it too. If not,
// ids have memory of their own: whoever keeps the nodes of a batch does not keep its rows.
IdArray Run::ids_in(Entry& entry, std::size_t count) {
  const std::size_t bytes = count * sizeof(std::int64_t);
  if (options_.memory->is_pinned()) {
    auto* const data = reinterpret_cast<std::int64_t*>(entry.memory.get() + entry.memory_taken);
    entry.memory_taken += aligned(bytes);
    return {data, count, entry.memory};
  }
  const MemoryBlock block = gz::hand_out(std::max<std::size_t>(bytes, 1));
  auto* const data = static_cast<std::int64_t*>(block.data);
  return {data, count, std::shared_ptr<const void>(data, [block](auto*) { take_back(block); })};
}

void Run::hand_out_ids(Entry& entry) {
  const auto unpacked = [&](const PackedIds& ids) {
    const IdArray array = ids_in(entry, ids.size());
    ids.unpack(0, {array.data, array.count});
    return array;
  };
  const bool near_first = options_.sampler->options().sampling.direction == Direction::kOut;
  for (Packed::Nodes& type : entry.packed.types) {
    entry.batch.types.push_back(
        {unpacked(type.nodes), unpacked(type.trees), std::move(type.per_hop)});
  }
  for (Packed::Edges& relation : entry.packed.relations) {
    const std::size_t count = relation.near.size();
    IdArray ends = ids_in(entry, 2 * count);
    const std::span<std::int64_t> first(ends.data, count), second(ends.data + count, count);
    relation.near.unpack(0, near_first ? first : second);
    relation.far.unpack(0, near_first ? second : first);
    entry.batch.relations.push_back(
        {std::move(ends), unpacked(relation.edges), std::move(relation.per_hop)});
  }
  entry.memory.reset();  // now, as this wakes other threads if nothing of the batch is in it
}

void Run::assemble(Entry& entry, const Piece& piece) {
  if (piece.attribute == kSample) {
    hand_out_ids(entry);
    return;
  }
  RowSource& source = (*options_.sources)[piece.attribute];
  const PackedIds& rows = rows_of(entry, piece.attribute);
  std::byte* const out = entry.batch.rows[piece.attribute].data;
  std::array<std::int64_t, kIdsAtOnce> part;
  for (std::size_t first = piece.first; first < piece.first + piece.count; first += kIdsAtOnce) {
    const std::size_t count = std::min(kIdsAtOnce, piece.first + piece.count - first);
    rows.unpack(first, std::span(part).first(count));
    source.copy_rows(std::span(part).first(count), first, entry.misses[piece.attribute],
                     sweep_.get(), sweep_source_[piece.attribute],
                     out + first * source.copy().out_bytes());
  }
}

// Where the rows of a batch that has been sampled come from. Holds the lock.
void Run::count_rows(const Entry& entry) {
  for (std::size_t a = 0; a < entry.misses.size(); ++a) {
    const std::uint64_t rows = rows_of(entry, a).size();
    counts_.on_device_rows += ids_of(entry, a).size() - rows;
    if ((*options_.sources)[a].is_mapped()) {
      counts_.mapped_rows += rows;
      continue;
    }
    const auto& slots = entry.misses[a].slots;
    counts_.cached_rows += rows - slots.size();
    counts_.unslotted_rows +=
        static_cast<std::uint64_t>(std::count(slots.begin(), slots.end(), RowSlots::kNone));
  }
}

// Gives back what a batch needed on its way. Holds the lock.
void Run::finish(Entry& entry) {
  for (const BatchRows& rows : entry.batch.rows) counts_.rows += rows.count;
  for (std::size_t a = 0; a < entry.misses.size(); ++a) {
    // Rows of a batch that failed may still be on their way.
    if ((*options_.sources)[a].is_mapped() || entry.error) continue;
    sweep_->release(sweep_source_[a], entry.misses[a].slots);
  }
  entry.misses.clear();
  entry.rows.clear();
  entry.device_index.clear();
  entry.packed = {};
  window_bytes_ -= std::exchange(entry.bytes, 0);
  entry.state = State::kDone;
  set_hurry();
  wakeup_->changed.notify_all();
  wakeup_->ready.notify_all();
}

// The sweep goes on while at least as many batches are behind the first that waits for it as are
// ready before: it is not late, and finds as many rows on its way as it can.
void Run::set_hurry() {
  if (!sweep_) return;
  std::size_t ready = 0;
  for (const auto& entry : window_) {
    try {
      if (entry->state == State::kWaiting && !sweep_->is_there(entry->due)) break;
    } catch (...) {  // reported when the batch is assembled
      break;
    }
    ++ready;
  }
  sweep_->set_hurry(window_.size() - ready >= ready);
}

// Holds the lock.
bool Run::has_next() const {
  if (window_.empty()) return over_ || next_number_ >= num_batches_;
  return window_.front()->state == State::kDone;
}

bool Run::is_ready() const {
  const std::lock_guard lock(wakeup_->mutex);
  return has_next();
}

std::optional<Batch> Run::next() {
  const Stopwatch watch;
  std::unique_lock lock(wakeup_->mutex);
  next_waits_ = true;
  wakeup_->changed.notify_all();
  while (!has_next()) {
    if (wakeup_->ready.wait_for(lock, kPollEvery) == std::cv_status::timeout) {
      lock.unlock();
      try {
        check_interrupt();
      } catch (...) {
        lock.lock();
        next_waits_ = false;
        throw;
      }
      lock.lock();
    }
  }
  next_waits_ = false;
  counts_.waited += watch.seconds();
  if (over_ || window_.empty()) return std::nullopt;
  const std::unique_ptr<Entry> entry = std::move(window_.front());
  window_.pop_front();
  set_hurry();
  wakeup_->changed.notify_all();
  if (entry->error) {
    over_ = true;
    lock.unlock();  // the memory of its rows takes the lock as it goes back
    std::rethrow_exception(entry->error);
  }
  ++counts_.batches;
  return std::move(entry->batch);
}

RunCounts Run::counts() const {
  const std::lock_guard lock(wakeup_->mutex);
  RunCounts counts = counts_;
  if (sweep_) counts.sweep = sweep_->counts();
  return counts;
}

Run::Held Run::held() const {
  const std::lock_guard lock(wakeup_->mutex);
  return {window_.size(), window_bytes_, sweep_ ? sweep_->memory_bytes() : 0};
}

}  // namespace gz
