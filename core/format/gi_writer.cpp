#include "core/format/gi_writer.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/parallel.h"

namespace gz {
namespace {

constexpr std::size_t kPending = 1 << 13;          // numbers joined into one append
constexpr std::size_t kPendingBytes = 1 << 16;     // the same for the bytes of strings
constexpr std::uint64_t kLeastMemory = 256 << 10;  // of the whole writer
constexpr std::size_t kLeastGroups = 64;           // enough to sort on many threads
constexpr std::size_t kMostGroups = std::size_t{1} << 14;

std::span<const std::byte> bytes_of(const std::vector<std::int64_t>& numbers) {
  return std::as_bytes(std::span(numbers));
}

}  // namespace

HashGroups::HashGroups(const std::string& folder, std::uint64_t memory, std::uint64_t most_entries)
    : file_(folder), most_in_memory_(std::max<std::uint64_t>(memory / sizeof(Entry), 1024)) {
  const auto threads = static_cast<std::uint64_t>(num_threads());
  const std::uint64_t wanted =
      most_entries / std::max<std::uint64_t>(most_in_memory_ / (2 * threads), 1);
  const std::size_t count =
      std::bit_ceil(std::clamp<std::size_t>(wanted, kLeastGroups, kMostGroups));
  shift_ = 64 - std::countr_zero(count);
  groups_.resize(count);
}

void HashGroups::push(std::uint64_t hash, std::uint64_t id) {
  if (in_memory_ == most_in_memory_) spill();
  groups_[hash >> shift_].entries.push_back({hash, id});
  ++in_memory_;
}

void HashGroups::spill() {
  for (Group& group : groups_) {
    if (group.entries.empty()) continue;
    group.pieces.push_back(
        {file_.append(std::as_bytes(std::span(group.entries))), group.entries.size()});
    group.entries.clear();
  }
  in_memory_ = 0;
}

void HashGroups::load(Group& group) const {
  std::size_t at = group.entries.size();
  std::size_t total = at;
  for (const Piece& piece : group.pieces) total += piece.count;
  group.entries.resize(total);
  for (const Piece& piece : group.pieces) {
    file_.read_exact_at(std::as_writable_bytes(std::span(group.entries).subspan(at, piece.count)),
                        piece.offset);
    at += piece.count;
  }
  std::sort(group.entries.begin(), group.entries.end());
}

template <class Body>
void HashGroups::drain(Body&& body) {
  // What is in memory would stay there beside the groups that are read back.
  if (!std::all_of(groups_.begin(), groups_.end(),
                   [](const Group& g) { return g.pieces.empty(); })) {
    spill();
    for (Group& group : groups_) group.entries = {};
  }
  const auto threads = static_cast<std::size_t>(num_threads());
  for (std::size_t begin = 0; begin < groups_.size(); begin += threads) {
    const std::size_t end = std::min(begin + threads, groups_.size());
    parallel_chunks(end - begin, 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) load(groups_[begin + i]);
    });
    for (std::size_t i = begin; i < end; ++i) {
      body(std::span<const Entry>(groups_[i].entries));
      groups_[i] = {};
    }
  }
}

void GiWriter::begin(const GiWriterOptions& options) {
  options_ = options;
  const std::uint64_t memory = std::max(options.memory, kLeastMemory);
  fields_.kind = static_cast<std::uint32_t>(options.kind);
  if (options.kind == LabelKind::kInteger) {
    samples_ = std::make_unique<NumberStream>(options.tmp_dir, memory / 8 / 8);
    container_.begin(kGiLabels, Dtype::kInt64, kSectionRequired);
  } else {
    offsets_ = std::make_unique<NumberStream>(options.tmp_dir, memory / 8 / 8);
    // Half of it: vectors that grow hold up to twice what is in them.
    hashes_ = std::make_unique<HashGroups>(options.tmp_dir, memory / 4, options.most_labels);
    offsets_->push(0);
    container_.begin(kGiBytes, Dtype::kUint8, kSectionRequired);
  }
}

void GiWriter::append(std::int64_t label) {
  if (fields_.num_labels % kGiFanout == 0) samples_->push(label);
  ++fields_.num_labels;
  pending_.push_back(label);
  if (pending_.size() < kPending) return;
  container_.append(bytes_of(pending_));
  pending_.clear();
}

void GiWriter::append(std::span<const std::byte> label) {
  hashes_->push(xxh64(label), fields_.num_labels);
  ++fields_.num_labels;
  num_bytes_ += label.size();
  offsets_->push(static_cast<std::int64_t>(num_bytes_));
  if (label.size() >= kPendingBytes || pending_bytes_.size() + label.size() > kPendingBytes) {
    container_.append(pending_bytes_);
    pending_bytes_.clear();
  }
  if (label.size() >= kPendingBytes) {
    container_.append(label);
  } else {
    pending_bytes_.insert(pending_bytes_.end(), label.begin(), label.end());
  }
}

void GiWriter::finish_integers() {
  container_.append(bytes_of(pending_));
  container_.end();
  container_.begin(kGiSamples, Dtype::kInt64, kSectionRequired);
  std::uint64_t below = fields_.num_labels;
  while (below > kGiFanout) {
    below = samples_->size();
    auto next = std::make_unique<NumberStream>(options_.tmp_dir,
                                               std::max(options_.memory, kLeastMemory) / 8 / 8);
    std::uint64_t at = 0;
    samples_->drain([&](std::span<const std::int64_t> numbers) {
      container_.append(std::as_bytes(numbers));
      for (const std::int64_t number : numbers) {
        if (at++ % kGiFanout == 0) next->push(number);
      }
    });
    const std::vector<std::int64_t> fill((kGiFanout - at % kGiFanout) % kGiFanout,
                                         std::numeric_limits<std::int64_t>::max());
    container_.append(bytes_of(fill));
    samples_ = std::move(next);
  }
  container_.end();
}

void GiWriter::finish_strings() {
  container_.append(pending_bytes_);
  container_.end();
  container_.begin(kGiOffsets, Dtype::kInt64, kSectionRequired);
  offsets_->drain(
      [&](std::span<const std::int64_t> numbers) { container_.append(std::as_bytes(numbers)); });
  offsets_.reset();
  container_.end();

  // Labels come in order of their hashes, so each takes the first free slot from its home on.
  container_.begin(kGiSlots, Dtype::kInt64, kSectionRequired);
  fields_.num_homes = fields_.num_labels + fields_.num_labels / 3 + 1;
  std::uint64_t position = 0;
  const auto put = [&](std::uint64_t slot) {
    pending_.push_back(static_cast<std::int64_t>(slot));
    ++position;
    if (pending_.size() < kPending) return;
    container_.append(bytes_of(pending_));
    pending_.clear();
  };
  hashes_->drain([&](std::span<const HashGroups::Entry> entries) {
    for (const HashGroups::Entry& entry : entries) {
      const std::uint64_t home = gi_home(entry.hash, fields_.num_homes);
      while (position < home) put(0);
      fields_.max_probe = std::max(fields_.max_probe, position - home);
      put(gi_slot(entry.hash, entry.id));
    }
  });
  while (position < fields_.num_homes + fields_.max_probe) put(0);
  container_.append(bytes_of(pending_));
  container_.end();
}

void GiWriter::finish() {
  if (fields_.num_labels > kMaxLabels) {
    throw std::length_error(
        concat("a dictionary holds at most ", kMaxLabels, " labels, found ", fields_.num_labels));
  }
  if (options_.kind == LabelKind::kInteger) {
    finish_integers();
  } else {
    finish_strings();
  }
  container_.finish(std::as_bytes(std::span(&fields_, 1)), 0);
}

}  // namespace gz
