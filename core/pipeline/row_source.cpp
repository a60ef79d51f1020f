#include "core/pipeline/row_source.h"

#include <algorithm>
#include <array>

#include "core/base/buffer.h"
#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/store/page_requests.h"

namespace gz {
namespace {

// Rows found and copied together: their addresses stay in the first-level cache.
constexpr std::size_t kGroup = 512;

std::uint64_t items_per_row(const Features& features) {
  return features.row_bytes() / item_size(features.layout().dtype);
}

}  // namespace

RowSource::RowSource(const Features& features, std::optional<Dtype> wanted, ReaderKind reader)
    : features_(&features),
      layout_{features.layout().data_offset, features.row_bytes(),
              static_cast<std::uint64_t>(features.num_rows())},
      copy_(features.layout().dtype, !features.scales().empty(), items_per_row(features), wanted),
      chosen_(choose_reader(features.mapping(), layout_,
                            data_bytes() == 0 ? ReaderKind::kMmap : reader)) {
  if (copy_.needs_scales()) {
    scales_.emplace(features.mapping(),
                    RowLayout{*features.layout().scale_offset, sizeof(float), layout_.num_rows});
  }
}

void RowSource::prepare() {
  const MappedFile& mapping = *features_->mapping();
  if (is_mapped()) {
    const std::uint64_t there = mapping.resident_bytes().value_or(mapping.size());
    const bool cold = there < mapping.size() - mapping.size() / 10;
    if (cold && mapping.size() < available_memory() / 2) {
      mapping.preload();
    } else if (!cold) {  // a fault for every page would take longer
      constexpr std::size_t kStep = 32 << 20;
      parallel_chunks(mapping.size(), kStep, [&](std::size_t begin, std::size_t end) {
        mapping.advise(Advice::kPopulate, begin, end - begin);
      });
    }
    return;
  }
  if (cache_ && !cache_->is_filled()) cache_->fill(*chosen_.reader);
  if (copy_.needs_scales()) {
    PageRequests pages(mapping);
    pages.touch(features_->scales().data(), features_->scales().size_bytes());
  }
}

Sweep::Source RowSource::for_sweep() const {
  Sweep::Source source;
  source.file = chosen_.file;
  source.layout = layout_;
  source.file_size = features_->mapping()->size();
  source.gap = chosen_.choice.read_gap;
  return source;
}

void RowSource::translate(std::span<const std::int64_t> ids, std::span<std::int64_t> rows) const {
  guarded(*features_->mapping(), [&] { features_->translate(ids, rows); });
}

RecycledVector<std::int64_t> RowSource::host_rows(std::span<const std::int64_t> rows,
                                                  DeviceRowIndex& index) const {
  RecycledVector<std::int64_t> on_host;
  index.slots.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint64_t slot = on_device_.find(static_cast<std::uint64_t>(rows[i]));
    if (slot != RowSet::kNone) {
      index.slots[i] = static_cast<std::int32_t>(slot);
      continue;
    }
    index.places.push_back(static_cast<std::int64_t>(i));
    on_host.push_back(rows[i]);
  }
  return on_host;
}

RecycledVector<std::int64_t> RowSource::find_misses(std::span<const std::int64_t> rows,
                                                    Misses& misses) const {
  RecycledVector<std::int64_t> wanted;
  if (is_mapped()) return wanted;
  RecycledVector<std::uint32_t> places;
  places.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (cache_ && cache_->find(static_cast<std::uint64_t>(rows[i])) != nullptr) continue;
    places.push_back(static_cast<std::uint32_t>(i));
  }
  wanted.reserve(places.size());
  for (const std::uint32_t place : places) wanted.push_back(rows[place]);
  misses.places.assign(places.begin(), places.end());  // no larger than it has to be
  return wanted;
}

void RowSource::copy_rows(std::span<const std::int64_t> rows, std::size_t first,
                          const Misses& misses, const Sweep* sweep, std::size_t source,
                          std::byte* out) {
  if (copy_.out_bytes() == 0) return;
  std::array<float, kGroup> scales;
  guarded(*features_->mapping(), [&] {
    for (std::size_t begin = 0; begin < rows.size(); begin += kGroup) {
      const auto part = rows.subspan(begin, std::min(kGroup, rows.size() - begin));
      const auto steps = std::span(scales).first(scales_ ? part.size() : 0);
      if (scales_) scales_->gather(part, std::as_writable_bytes(steps).data());
      std::byte* const to = out + begin * copy_.out_bytes();
      if (is_mapped()) {
        chosen_.reader->gather_converted(part, steps, copy_, to);
      } else {
        copy_found(part, steps, first + begin, misses, sweep, source, to);
      }
    }
  });
}

// At most kGroup rows, from the cache and from slots. Rows that found no slot are read now.
void RowSource::copy_found(std::span<const std::int64_t> rows, std::span<const float> scales,
                           std::size_t first, const Misses& misses, const Sweep* sweep,
                           std::size_t source, std::byte* out) {
  std::array<const std::byte*, kGroup> places;
  std::vector<std::size_t> unslotted;
  const auto in_batch = [](std::uint32_t place, std::size_t other) { return place < other; };
  auto miss = static_cast<std::size_t>(
      std::lower_bound(misses.places.begin(), misses.places.end(), first, in_batch) -
      misses.places.begin());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (miss == misses.places.size() || misses.places[miss] != first + i) {
      places[i] = cache_->find(static_cast<std::uint64_t>(rows[i]));
      continue;
    }
    const Sweep::Slot slot = misses.slots[miss++];
    if (slot == RowSlots::kNone) {
      unslotted.push_back(i);
    } else {
      places[i] = sweep->row(source, slot);
    }
  }
  Buffer<std::byte> read;
  if (!unslotted.empty()) {
    read.extend(unslotted.size() * layout_.row_bytes);
    RecycledVector<std::int64_t> wanted;
    for (const std::size_t i : unslotted) wanted.push_back(rows[i]);
    chosen_.reader->gather(wanted, read.data());
    for (std::size_t i = 0; i < unslotted.size(); ++i)
      places[unslotted[i]] = read.data() + i * layout_.row_bytes;
  }
  copy_.copy(std::span(places).first(rows.size()), scales, out);
}

}  // namespace gz
