#include "core/pipeline/run.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "core/base/parallel.h"

namespace gz {
namespace {

constexpr auto kPollEvery = std::chrono::milliseconds(50);

// How much of a batch a thread takes at a time: long enough that asking for the next costs nothing,
// short enough that several threads end together.
constexpr std::size_t kPieceBytes = 512 << 10;
constexpr std::size_t kPieceIds = kPieceBytes / sizeof(std::int64_t);
constexpr std::size_t kSample = ~std::size_t{0};  // the attribute of pieces that are ids

// One thread reads some millions of rows per second.
constexpr std::size_t kThreadsPerSweeper = 4;
constexpr std::size_t kMostSweepers = 4;
// Of the batches ahead, how many may join the sweep at the same place.
constexpr double kJoinTogether = 1.0 / 8;
constexpr double kLeastTogether = 2;

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
  for (const Edges& relation : relations) {
    sum += size(2 * relation.near.size());
    if (!relation.have_positions) sum += size(relation.edges.size());
  }
  return sum;
}

Run::Run(RunOptions options)
    : options_(std::move(options)),
      order_(options_.sampler->order(options_.epoch)),
      num_batches_(options_.sampler->num_batches()),
      wakeup_(std::make_shared<Wakeup>()),
      next_number_(options_.first),
      sample_bytes_(options_.ahead.sample_bytes),
      sample_room_(options_.budget.window -
                   std::min<std::uint64_t>(options_.budget.window,
                                           options_.ahead.chunks * options_.ahead.chunk_bytes)) {
  const auto wake = [wakeup = wakeup_] {
    bool is_called = false;
    {
      const std::lock_guard lock(wakeup->mutex);
      is_called = wakeup->call();
    }
    if (is_called) wakeup->changed.notify_one();
  };
  std::vector<Sweep::Source> swept;
  bool use_ring = true;
  for (std::size_t a = 0; a < options_.attributes.size(); ++a) {
    const RowSource& source = (*options_.sources)[a];
    sweep_source_.push_back(swept.size());
    if (source.is_mapped()) continue;
    use_ring = use_ring && source.choice().kind == ReaderKind::kDirect;
    swept.push_back(source.for_sweep());
  }
  if (!swept.empty()) {
    Sweep::Options given;
    given.use_ring = use_ring;
    given.threads =
        std::clamp<std::size_t>(options_.budget.threads / kThreadsPerSweeper, 1, kMostSweepers);
    given.read_bytes = options_.budget.reads;
    given.chunks = options_.ahead.chunks;
    given.chunk_bytes = options_.ahead.chunk_bytes;
    given.on_progress = wake;
    given.stages = options_.stages;
    sweep_ = std::make_unique<Sweep>(std::move(swept), std::move(given));
  }
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
    const bool worked = work_once(lock, thread);
    // While tidy() has let go of the lock, nobody counts this thread as idle: work or a stop that
    // came then has called nobody, so it looks again.
    const bool let_go = tidy(lock);
    if (worked || let_go) continue;
    set_haste();
    wakeup_->wait(lock);
  }
}

// Does the most urgent thing there is to do. False if there is none.
bool Run::work_once(std::unique_lock<std::mutex>& lock, std::size_t thread) {
  note_failures();
  return assemble_some(lock, thread) || begin_one(lock, thread) || sample_one(lock, thread) ||
         fill_some(lock, thread);
}

// Whether there is something to do for one more thread.
bool Run::has_work() {
  for (const auto& entry : window_) {
    if (entry->state == State::kSampling || entry->state == State::kWaiting) break;
    if (entry->state == State::kAssembling && has_piece(*entry)) return true;
  }
  return entry_to_begin() != nullptr || entry_to_draw_again() != nullptr || can_sample() ||
         can_fill();
}

// Lets others go on. The thread that does so has changed something and taken its part of the work.
void Run::unlock(std::unique_lock<std::mutex>& lock) {
  const bool calls = wakeup_->num_called < wakeup_->num_idle && has_work() && wakeup_->call();
  const bool is_due = std::exchange(next_is_due_, false);
  lock.unlock();
  if (is_due) wakeup_->ready.notify_one();
  if (calls) wakeup_->changed.notify_one();
}

// Does without the lock what finish() left to do. False if that was nothing: the lock was kept.
bool Run::tidy(std::unique_lock<std::mutex>& lock) {
  if (leftovers_.empty() && !next_is_due_) return false;
  std::vector<Leftover> gone = std::exchange(leftovers_, {});
  unlock(lock);
  gone.clear();
  lock.lock();
  return true;
}

// Runs body() without the lock, and returns what it threw.
template <class Body>
std::exception_ptr Run::unlocked(std::unique_lock<std::mutex>& lock, std::size_t thread,
                                 Stage stage, std::uint64_t batch, Body&& body) {
  unlock(lock);
  std::exception_ptr error;
  try {
    const StageLog::Range range(options_.stages, stage, thread, batch);
    body();
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  return error;
}

// What went wrong for all is told to the first batch that it concerns.
void Run::note_failures() {
  if (!sweep_ && !fill_error_) return;
  for (const auto& entry : window_) {
    if (entry->state != State::kWaiting && entry->state != State::kAssembling) continue;
    if (entry->error) return;
    try {
      if (fill_error_) std::rethrow_exception(fill_error_);
      if (is_there(*entry)) continue;
      if (sweep_) sweep_->check();
      return;
    } catch (...) {
      entry->error = std::current_exception();
      if (entry->num_busy == 0) finish(*entry);
      return;
    }
  }
}

bool Run::assemble_some(std::unique_lock<std::mutex>& lock, std::size_t thread) {
  for (const auto& held : window_) {
    if (held->state == State::kSampling || held->state == State::kWaiting) break;  // as all behind
    if (held->state != State::kAssembling || !has_piece(*held)) continue;
    Entry& entry = *held;
    const Piece piece = take_piece(entry);
    ++entry.num_busy;
    const Stopwatch watch;
    GatherCounts late;
    const std::exception_ptr error = unlocked(lock, thread, Stage::kAssemble, entry.batch.number,
                                              [&] { late = assemble(entry, piece); });
    counts_.assembling += watch.seconds();
    counts_.late += late;
    --entry.num_busy;
    if (error && !entry.error) entry.error = error;
    if (is_assembled(entry)) {
      finish(entry);
    } else if (!piece.missed.empty()) {
      set_haste();
    }
    return true;
  }
  return false;
}

// Whether the next of its pieces may be copied now.
bool Run::can_copy_next(const Entry& entry) const {
  if (entry.next_piece == entry.pieces.size()) return false;
  const std::size_t a = entry.pieces[entry.next_piece].attribute;
  return a == kSample || (*options_.sources)[a].cache_to_fill() == nullptr;
}

// Rows of an attribute that are taken together.
std::uint64_t Run::worth_taking(std::size_t a) const {
  const std::uint64_t size = std::max<std::uint64_t>((*options_.sources)[a].copy().out_bytes(), 1);
  return std::clamp<std::uint64_t>(kPieceBytes / size, 1, options_.ahead.worth_taking);
}

// The first attribute of which enough rows have arrived.
std::optional<std::size_t> Run::missed_to_take(const Entry& entry) const {
  for (std::size_t a = 0; a < entry.misses.size(); ++a) {
    const RowRequest* const request = entry.misses[a].request.get();
    if (request == nullptr) continue;
    const std::uint64_t there = request->rows_to_take();
    if (there > 0 && (there >= worth_taking(a) || request->is_ready() || sweep_->is_short()))
      return a;
  }
  return std::nullopt;
}

// Whether something may be done for a batch now.
bool Run::has_piece(const Entry& entry) const {
  return !entry.error && (can_copy_next(entry) || missed_to_take(entry));
}

// Only if it has_piece().
Run::Piece Run::take_piece(Entry& entry) const {
  if (can_copy_next(entry)) return std::move(entry.pieces[entry.next_piece++]);
  Piece piece{*missed_to_take(entry)};
  RowRequest& request = *entry.misses[piece.attribute].request;
  const std::uint64_t wanted = std::min(worth_taking(piece.attribute), request.rows_to_take());
  for (std::uint64_t rows = 0; rows < wanted;) {
    const RowRequest::Part part = request.take();
    piece.missed.push_back(part);
    rows += request.end(part.section) - request.begin(part.section);
  }
  return piece;
}

bool Run::is_assembled(const Entry& entry) const {
  if (entry.num_busy > 0) return false;
  if (entry.error) return true;
  return entry.next_piece == entry.pieces.size() &&
         std::all_of(entry.misses.begin(), entry.misses.end(), [](const Misses& misses) {
           return !misses.request || misses.request->is_all_taken();
         });
}

bool Run::begin_one(std::unique_lock<std::mutex>& lock, std::size_t thread) {
  Entry* const entry = entry_to_begin();
  if (entry == nullptr) return false;
  entry->state = State::kBeginning;
  entry->error = unlocked(lock, thread, Stage::kBegin, entry->batch.number, [&] { begin(*entry); });
  entry->state = State::kAssembling;
  if (is_assembled(*entry)) finish(*entry);  // it failed, or is empty
  set_haste();
  return true;
}

bool Run::sample_one(std::unique_lock<std::mutex>& lock, std::size_t thread) {
  Entry* again = entry_to_draw_again();
  if (again == nullptr) {
    if (!can_sample()) return false;
    window_.push_back(std::make_unique<Entry>());
    window_.back()->batch.number = std::exchange(next_number_, next_number_ + options_.stride);
    joins_left_ -= 1;
  }
  Entry& entry = again != nullptr ? *again : *window_.back();
  entry.state = State::kSampling;
  entry.is_kept = !options_.ahead.draws_again || is_near(entry);
  window_bytes_ -= entry.bytes;
  entry.bytes = entry.is_kept ? sample_bytes_ : options_.ahead.request_bytes;
  window_bytes_ += entry.bytes;
  ++num_sampling_;
  const Stopwatch watch;
  RunCounts counts;
  entry.error =
      unlocked(lock, thread, Stage::kSample, entry.batch.number, [&] { counts = sample(entry); });
  --num_sampling_;
  counts_.sampling += watch.seconds();
  if (again == nullptr) counts_ += counts;
  window_bytes_ -= entry.bytes;
  entry.bytes = entry.packed.bytes();
  for (const PackedIds& rows : entry.rows) entry.bytes += rows.bytes();
  for (const auto& index : entry.device_index)
    if (index) entry.bytes += 4 * index->slots.size() + 8 * index->places.size();
  for (const Misses& misses : entry.misses) {
    if (misses.request) entry.bytes += 4 * misses.places.size() + misses.request->bytes();
  }
  window_bytes_ += entry.bytes;
  // A batch far larger than the others is not what to expect of the next one.
  if (entry.is_kept)
    sample_bytes_ =
        std::max(options_.ahead.sample_bytes, sample_bytes_ - sample_bytes_ / 8 + entry.bytes / 8);
  entry.state = State::kWaiting;
  if (entry.error) finish(entry);
  set_haste();
  return true;
}

// Rows that stay are read while the first batches are on their way.
bool Run::fill_some(std::unique_lock<std::mutex>& lock, std::size_t thread) {
  if (fill_error_) return false;
  for (RowSource& source : *options_.sources) {
    RowCache* const cache = source.cache_to_fill();
    if (cache == nullptr) continue;
    const std::size_t part = cache->begin_part();
    if (part == cache->num_parts()) continue;
    const std::exception_ptr error =
        unlocked(lock, thread, Stage::kFill, part, [&] { source.fill_cache(part); });
    if (error && !stop_) fill_error_ = error;
    return true;
  }
  return false;
}

bool Run::can_fill() const {
  if (fill_error_) return false;
  return std::any_of(options_.sources->begin(), options_.sources->end(),
                     [](const RowSource& source) {
                       const RowCache* const cache = source.cache_to_fill();
                       return cache != nullptr && cache->has_part_to_begin();
                     });
}

// Whether a batch is among those whose samples are kept in any case.
bool Run::is_near(const Entry& entry) const {
  const std::size_t count = std::min(window_.size(), options_.ahead.num_near);
  return std::any_of(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(count),
                     [&](const auto& near) { return near.get() == &entry; });
}

Run::Entry* Run::entry_to_draw_again() {
  if (num_sampling_ >= options_.budget.samplers) return nullptr;
  for (std::size_t i = 0; i < std::min(window_.size(), options_.ahead.num_near); ++i) {
    if (window_[i]->state == State::kWaiting && !window_[i]->is_kept) return window_[i].get();
  }
  return nullptr;
}

bool Run::can_sample() {
  if (over_ || next_number_ >= num_batches_) return false;
  if (num_sampling_ >= options_.budget.samplers) return false;
  if (window_.empty()) return true;
  if (window_.size() >= options_.ahead.most_batches + options_.budget.num_outputs) return false;
  if (!sweep_) return window_bytes_ + sample_bytes_ <= options_.budget.window;
  // A sample that is not kept takes next to nothing.
  const bool is_kept = !options_.ahead.draws_again || window_.size() < options_.ahead.num_near;
  if (is_kept && window_bytes_ + sample_bytes_ > sample_room_) return false;
  // Batches join the sweep at equal distances, so that on average half of what they miss has
  // arrived.
  const auto most = static_cast<double>(options_.ahead.most_batches);
  const double turns = sweep_->turns();
  joins_left_ = std::min(joins_left_ + most * (turns - std::exchange(turns_, turns)),
                         std::max(most * kJoinTogether, kLeastTogether));
  // There are too many for the memory.
  const std::uint64_t dropped = sweep_->counts().dropped;
  if (std::exchange(dropped_, dropped) != dropped) joins_left_ = 0;
  if (joins_left_ >= 1) return true;
  std::size_t waiting = 0;
  for (const auto& entry : window_) {
    const bool waits =
        entry->state == State::kSampling || (entry->state == State::kWaiting && !is_there(*entry));
    if (waits && ++waiting == options_.budget.num_outputs) return false;
  }
  return true;
}

// Whether all rows of a batch that has been sampled have arrived, or found no memory.
bool Run::is_there(const Entry& entry) const {
  return std::all_of(entry.misses.begin(), entry.misses.end(), [](const Misses& misses) {
    return !misses.request || misses.request->is_ready();
  });
}

// Batches are begun in order, as soon as there is memory to put them in: rows that arrive need not
// wait elsewhere. If the caller holds all of that memory and waits for another batch, it gets more.
// Ids alone are not counted there, so those that wait to be handed out are.
Run::Entry* Run::entry_to_begin() const {
  std::size_t held = 0;
  std::size_t beginning = 0;  // those that are about to take memory
  for (const auto& entry : window_) {
    if (entry->state == State::kSampling) return nullptr;
    if (entry->state != State::kWaiting) {
      ++held;
      beginning += entry->state == State::kBeginning ? 1 : 0;
      continue;
    }
    if (!entry->is_kept) return nullptr;
    const std::size_t out = std::max(options_.memory->use().num_out + beginning, held);
    const bool room = out < options_.budget.num_outputs;
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

// Returns where the rows come from.
RunCounts Run::sample(Entry& entry) {
  SampledBatch sampled = options_.sampler->sample(order_, options_.epoch, entry.batch.number);
  entry.misses.resize(options_.attributes.size());
  entry.rows.resize(options_.attributes.size());
  entry.device_index.resize(options_.attributes.size());
  RunCounts counts;
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
      counts.on_device_rows += rows.size();
      on_host = source.host_rows(rows, entry.device_index[a].emplace());
      rows = on_host;
      counts.on_device_rows -= rows.size();
    }
    if (entry.is_kept && (source.features().is_reordered() || entry.device_index[a]))
      entry.rows[a] = PackedIds(rows);
    if (!entry.is_kept) entry.device_index[a].reset();
    if (source.is_mapped()) {
      counts.mapped_rows += rows.size();
      continue;
    }
    Misses& misses = entry.misses[a];
    const RowSource::MissedRows missed = source.find_misses(rows);
    counts.cached_rows += rows.size() - missed.rows.size();
    if (!misses.request)
      misses.request = sweep_->request(sweep_source_[a], entry.batch.number, missed.rows);
    if (!entry.is_kept) continue;
    misses.places.resize(missed.rows.size());
    misses.request->for_each_index(missed.rows, [&](std::size_t i, std::uint32_t index) {
      misses.places[index] = missed.places[i];
    });
  }
  if (!entry.is_kept) return counts;
  for (SampledNodes& type : sampled.hood.types) {
    entry.packed.types.push_back(
        {PackedIds(type.nodes.span()), PackedIds(type.trees.span()), std::move(type.per_hop)});
  }
  const SamplerOptions& sampling = options_.sampler->options();
  for (std::size_t r = 0; r < sampling.relations.size(); ++r) {
    SampledEdges& relation = sampled.hood.relations[r];
    entry.packed.relations.push_back({PackedIds(relation.near.span()),
                                      PackedIds(relation.far.span()),
                                      PackedIds(relation.edges.span()), std::move(relation.per_hop),
                                      have_positions(sampling.relations[r], sampling.sampling)});
  }
  sampled.hood = {};
  entry.batch.sampled = std::move(sampled);
  return counts;
}

// Finds memory for all attributes of a batch, and cuts them into pieces.
void Run::begin(Entry& entry) {
  for (const Misses& misses : entry.misses) {
    if (misses.request) sweep_->protect(*misses.request);
  }
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
  begin_ids(entry);
  std::vector<Piece> pieces;
  std::size_t num_ids = 0;
  for (const IdCopy& ids : entry.ids) num_ids += ids.from->size();
  for (std::size_t first = 0; first < num_ids; first += kPieceIds)
    pieces.push_back({kSample, first, std::min(kPieceIds, num_ids - first)});
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
  entry.memory.reset();  // this wakes another thread if nothing of the batch is in it
}

// All that a batch has is copied to the device, so if memory is pinned, ids are in it too. If not,
// and if they are `not_copied`, they have memory of their own: whoever keeps the nodes of a batch
// does not keep its rows.
IdArray Run::ids_in(Entry& entry, std::size_t count, bool not_copied) {
  const std::size_t bytes = count * sizeof(std::int64_t);
  if (options_.memory->is_pinned() && !not_copied) {
    auto* const data = reinterpret_cast<std::int64_t*>(entry.memory.get() + entry.memory_taken);
    entry.memory_taken += aligned(bytes);
    return {data, count, entry.memory};
  }
  const MemoryBlock block = gz::hand_out(std::max<std::size_t>(bytes, 1));
  auto* const data = static_cast<std::int64_t*>(block.data);
  return {data, count, std::shared_ptr<const void>(data, [block](auto*) { take_back(block); })};
}

// Finds memory for the ids of a batch.
void Run::begin_ids(Entry& entry) {
  const auto array_of = [&](const PackedIds& ids, bool not_copied = false) {
    IdArray array = ids_in(entry, ids.size(), not_copied);
    entry.ids.push_back({&ids, array.data});
    return array;
  };
  const bool near_first = options_.sampler->options().sampling.direction == Direction::kOut;
  for (Packed::Nodes& type : entry.packed.types) {
    entry.batch.types.push_back(
        {array_of(type.nodes), array_of(type.trees), std::move(type.per_hop)});
  }
  for (Packed::Edges& relation : entry.packed.relations) {
    const std::size_t count = relation.near.size();
    IdArray ends = ids_in(entry, 2 * count);
    entry.ids.push_back({&relation.near, near_first ? ends.data : ends.data + count});
    entry.ids.push_back({&relation.far, near_first ? ends.data + count : ends.data});
    entry.batch.relations.push_back({std::move(ends),
                                     array_of(relation.edges, relation.have_positions),
                                     std::move(relation.per_hop)});
  }
}

// Those of a piece, which counts through all arrays of ids.
void Run::unpack_ids(const Entry& entry, const Piece& piece) {
  std::size_t first = piece.first;
  std::size_t left = piece.count;
  for (const IdCopy& ids : entry.ids) {
    const std::size_t size = ids.from->size();
    if (first < size) {
      const std::size_t count = std::min(left, size - first);
      ids.from->unpack(first, {ids.to + first, count});
      left -= count;
    }
    first -= std::min(first, size);
    if (left == 0) return;
  }
}

// Returns what was read for it.
GatherCounts Run::assemble(Entry& entry, const Piece& piece) {
  GatherCounts late;
  if (piece.attribute == kSample) {
    unpack_ids(entry, piece);
    return late;
  }
  RowSource& source = (*options_.sources)[piece.attribute];
  const PackedIds& rows = rows_of(entry, piece.attribute);
  std::byte* const out = entry.batch.rows[piece.attribute].data;
  if (!piece.missed.empty()) {
    for (const RowRequest::Part& part : piece.missed)
      late += source.copy_missed(entry.misses[piece.attribute], part, out);
    sweep_->memory_came_back();
    return late;
  }
  Buffer<std::int64_t> part;
  rows.unpack(piece.first, {part.extend(piece.count), piece.count});
  source.copy_rows(part.span(), out + piece.first * source.copy().out_bytes());
  return late;
}

// Gives back what a batch needed on its way. Holds the lock.
void Run::finish(Entry& entry) {
  for (const BatchRows& rows : entry.batch.rows) counts_.rows += rows.count;
  for (std::size_t a = 0; a < entry.misses.size(); ++a) {
    if (entry.misses[a].request)
      sweep_->release(sweep_source_[a], std::move(entry.misses[a].request));
  }
  leftovers_.push_back({std::exchange(entry.packed, {}), std::exchange(entry.rows, {}),
                        std::exchange(entry.device_index, {}), std::exchange(entry.misses, {})});
  window_bytes_ -= std::exchange(entry.bytes, 0);
  entry.state = State::kDone;
  next_is_due_ = next_is_due_ || (next_waits_ && has_next());
  set_haste();
}

// Tells the sweep whether the first batch that is not there needs it.
void Run::set_haste() {
  if (!sweep_) return;
  Sweep::Haste haste;
  haste.num_arrived = sweep_->num_arrived();
  std::size_t num_early = 0;  // batches that are there, and that nobody has begun
  for (const auto& entry : window_) {
    if (entry->state == State::kSampling || entry->state == State::kBeginning) {
      haste.memory_comes = true;
      break;
    }
    if (entry->state == State::kDone) continue;
    const bool is_begun = entry->state == State::kAssembling;
    if (!is_there(*entry)) {
      const auto has_rows = [](const Misses& misses) {
        return misses.request && misses.request->rows_to_take() > 0;
      };
      haste.memory_comes = haste.memory_comes || !is_begun || entry->num_busy > 0 ||
                           std::any_of(entry->misses.begin(), entry->misses.end(), has_rows);
      break;
    }
    haste.memory_comes = true;
    num_early += is_begun ? 0 : 1;
  }
  haste.is_early = num_early >= options_.ahead.num_early;
  sweep_->set_haste(haste);
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
  std::unique_ptr<Entry> entry;  // goes without the lock
  std::unique_lock lock(wakeup_->mutex);
  if (since_last_) counts_.away += since_last_->seconds();
  since_last_.reset();
  if (!has_next()) {
    next_waits_ = true;  // which may be a reason to begin a batch
    if (wakeup_->call()) wakeup_->changed.notify_one();
  }
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
  entry = std::move(window_.front());
  window_.pop_front();
  set_haste();
  over_ = entry->error != nullptr;
  if (!over_) {
    ++counts_.batches;
    since_last_.emplace();
  }
  const bool is_called = wakeup_->call();
  lock.unlock();  // the memory of its rows takes the lock as it goes back
  if (is_called) wakeup_->changed.notify_one();
  if (entry->error) std::rethrow_exception(entry->error);
  return std::move(entry->batch);
}

RunCounts Run::counts() const {
  const std::lock_guard lock(wakeup_->mutex);
  RunCounts counts = counts_;
  if (sweep_) counts.sweep = sweep_->counts();
  counts.sweep.reads += counts.late.device_reads;
  counts.sweep.bytes += counts.late.device_bytes;
  return counts;
}

Run::Held Run::held() const {
  const std::lock_guard lock(wakeup_->mutex);
  return {window_.size(), window_bytes_, sweep_ ? sweep_->memory_bytes() : 0};
}

}  // namespace gz
