#include "core/gather/gather.h"

#include <algorithm>
#include <stdexcept>

#include "core/base/buffer.h"
#include "core/base/checked.h"
#include "core/base/error.h"
#include "core/base/machine.h"

namespace gz {
namespace {

// From here on the machine is asked whether the result fits.
constexpr std::uint64_t kAskFrom = std::uint64_t{64} << 20;

// A plan takes some 40 bytes a row, so it is made for parts of a large call.
constexpr std::size_t kRowsAtOnce = std::size_t{1} << 20;

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
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (static_cast<std::uint64_t>(ids[i]) >= layout_.num_rows) {
      throw std::out_of_range(concat("ids[", i, "]: row ", ids[i], " is not in ", mapping_->path(),
                                     ", which has ", layout_.num_rows, " rows"));
    }
  }
}

RowCopy Gatherer::row_copy(std::optional<Dtype> dtype) const {
  return {stored_, scales_.has_value(), layout_.row_bytes / item_size(stored_), dtype};
}

std::size_t Gatherer::result_bytes(std::span<const std::int64_t> ids,
                                   std::optional<Dtype> dtype) const {
  check(ids);
  const std::uint64_t row_bytes = row_copy(dtype).out_bytes();
  const std::string job =
      concat(mapping_->path(), ": gathering ", ids.size(), " rows of ", row_bytes, " bytes");
  const auto bytes = checked_mul(ids.size(), row_bytes);
  if (!bytes) throw MemoryShortage(concat(job, ": more than 2^64 bytes"));
  if (*bytes >= kAskFrom) require_memory(*bytes, job);
  return *bytes;
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
  const ChosenReader made = reader(wanted);
  const GatherCounts counts = guarded(*mapping_, [&] {
    GatherCounts sum;
    if (out.empty()) {
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
      std::byte* const place = out.data() + begin * copy.out_bytes();
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
