#include "core/gather/gather.h"

#include <algorithm>
#include <stdexcept>

#include "core/base/checked.h"
#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/base/parallel.h"

namespace gz {
namespace {

// From here on the machine is asked whether the result fits.
constexpr std::uint64_t kAskFrom = std::uint64_t{64} << 20;

// A plan takes some 40 bytes a row, so it is made for parts of a large call.
constexpr std::size_t kRowsAtOnce = std::size_t{1} << 20;

// Ids that a thread checks at a time: some tens of microseconds. Fewer are not worth a thread.
constexpr std::size_t kIdsPerCheck = std::size_t{1} << 17;

}  // namespace

Gatherer::Gatherer(const Features& features)
    : mapping_(features.mapping()), row_map_(features.row_map()), stored_(features.layout().dtype) {
  layout_ = {features.layout().data_offset, features.row_bytes(),
             static_cast<std::uint64_t>(features.num_rows())};
  if (const auto offset = features.layout().scale_offset)
    scales_.emplace(mapping_, RowLayout{*offset, sizeof(float), layout_.num_rows});
}

ChosenReader Gatherer::reader(ReaderKind wanted) {
  const std::lock_guard lock(mutex_);
  ChosenReader& made = made_[static_cast<std::size_t>(wanted)];
  if (!made.reader) made = choose_reader(mapping_, layout_, wanted);
  return made;
}

void Gatherer::check(std::span<const std::int64_t> ids) const {
  parallel_chunks(ids.size(), kIdsPerCheck, [&](std::size_t begin, std::size_t end) {
    std::uint64_t largest = 0;  // without a branch, so that several are compared at once
    for (std::size_t i = begin; i < end; ++i)
      largest = std::max(largest, static_cast<std::uint64_t>(ids[i]));
    if (largest < layout_.num_rows) return;
    for (std::size_t i = begin; i < end; ++i) {
      if (static_cast<std::uint64_t>(ids[i]) < layout_.num_rows) continue;
      throw std::out_of_range(concat("ids[", i, "]: row ", ids[i], " is not in ", mapping_->path(),
                                     ", which has ", layout_.num_rows, " rows"));
    }
  });
}

RowCopy Gatherer::row_copy(std::optional<Dtype> dtype) const {
  return {stored_, scales_.has_value(), layout_.row_bytes / item_size(stored_), dtype};
}

std::size_t Gatherer::result_bytes(std::size_t count, const RowCopy& copy) const {
  const auto bytes = checked_mul(count, copy.out_bytes());
  const auto job = [&] {
    return concat(mapping_->path(), ": gathering ", count, " rows of ", copy.out_bytes(), " bytes");
  };
  if (!bytes) throw MemoryShortage(concat(job(), ": more than 2^64 bytes"));
  if (*bytes >= kAskFrom) require_memory(*bytes, job());
  return *bytes;
}

Buffer<std::uint8_t> Gatherer::gather(std::span<const std::int64_t> ids, ReaderKind wanted,
                                      std::optional<Dtype> dtype) {
  const RowCopy copy = row_copy(dtype);
  check(ids);
  const std::size_t bytes = result_bytes(ids.size(), copy);
  idle_room_.set(std::min(block_bytes(bytes), kLargestKept));
  Buffer<std::uint8_t> rows;
  gather_checked(ids, reinterpret_cast<std::byte*>(rows.extend(bytes)), wanted, copy);
  return rows;
}

void Gatherer::gather(std::span<const std::int64_t> ids, std::span<std::byte> out,
                      ReaderKind wanted, std::optional<Dtype> dtype) {
  const RowCopy copy = row_copy(dtype);
  const auto bytes = checked_mul(ids.size(), copy.out_bytes());
  if (!bytes || *bytes != out.size()) {
    throw std::invalid_argument(concat("out: expected ", ids.size(), " rows of ", copy.out_bytes(),
                                       " bytes, found ", out.size(), " bytes"));
  }
  check(ids);
  gather_checked(ids, out.data(), wanted, copy);
}

void Gatherer::gather_checked(std::span<const std::int64_t> ids, std::byte* out, ReaderKind wanted,
                              const RowCopy& copy) {
  const ChosenReader made = reader(wanted);
  const GatherCounts counts = guarded(*mapping_, [&] {
    GatherCounts sum;
    if (ids.empty() || copy.out_bytes() == 0) {
      sum.rows = ids.size();
      return sum;
    }
    Buffer<float> scales;
    Buffer<std::int64_t> rows;
    if (row_map_) rows.extend(std::min(kRowsAtOnce, ids.size()));
    for (std::size_t begin = 0; begin < ids.size(); begin += kRowsAtOnce) {
      auto part = ids.subspan(begin, std::min(kRowsAtOnce, ids.size() - begin));
      if (row_map_) {
        row_map_->translate(part, {rows.data(), part.size()});
        part = rows.span().first(part.size());
      }
      std::byte* const place = out + begin * copy.out_bytes();
      if (!copy.converts()) {
        sum += made.reader->gather(part, place);
        continue;
      }
      scales.clear();
      if (copy.needs_scales())
        scales_->gather(part, reinterpret_cast<std::byte*>(scales.extend(part.size())));
      sum += made.reader->gather_converted(part, scales.span(), copy, place);
    }
    return sum;
  });
  const std::lock_guard lock(mutex_);
  choice_ = made.choice;
  counts_ += counts;
}

ReaderChoice Gatherer::choice() const {
  const std::lock_guard lock(mutex_);
  return choice_;
}

GatherCounts Gatherer::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace gz
