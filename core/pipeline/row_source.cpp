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

RowCopy copy_of(const Attribute& attribute) {
  const Features& features = *attribute.features;
  if (attribute.with_scales) return RowCopy::with_scales(items_per_row(features));
  return RowCopy(features.layout().dtype, !features.scales().empty(), items_per_row(features),
                 attribute.wanted);
}

}  // namespace

RowSource::RowSource(const Attribute& attribute, ReaderKind reader)
    : features_(attribute.features),
      layout_{features_->layout().data_offset, features_->row_bytes(),
              static_cast<std::uint64_t>(features_->num_rows())},
      copy_(copy_of(attribute)),
      chosen_(choose_reader(features_->mapping(), layout_,
                            data_bytes() == 0 ? ReaderKind::kMmap : reader)) {
  if (copy_.needs_scales()) {
    scales_.emplace(features_->mapping(),
                    RowLayout{*features_->layout().scale_offset, sizeof(float), layout_.num_rows});
  }
}

void RowSource::preload() {
  if (host_data_bytes() == 0) return;
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
  if (copy_.needs_scales()) {
    PageRequests pages;
    pages.touch(features_->scales().data(), features_->scales().size_bytes());
  }
}

ReadCost RowSource::read_cost() const {
  return gz::read_cost(*chosen_.file, features_->mapping()->size());
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

RowSource::MissedRows RowSource::find_misses(std::span<const std::int64_t> rows) const {
  MissedRows missed;
  if (is_mapped()) return missed;
  RecycledVector<std::uint32_t> places;
  places.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (cache_ && cache_->has(static_cast<std::uint64_t>(rows[i]))) continue;
    places.push_back(static_cast<std::uint32_t>(i));
  }
  missed.rows.reserve(places.size());
  for (const std::uint32_t place : places) missed.rows.push_back(rows[place]);
  missed.places.assign(places.begin(), places.end());  // no larger than it has to be
  return missed;
}

// None if they are not needed.
std::span<const float> RowSource::scales_of(std::span<const std::int64_t> rows,
                                            std::span<float> to) {
  if (!scales_) return {};
  scales_->gather(rows, std::as_writable_bytes(to).data());
  return to.first(rows.size());
}

void RowSource::copy_rows(std::span<const std::int64_t> rows, std::byte* out) {
  if (copy_.out_bytes() == 0) return;
  guarded(*features_->mapping(), [&] {
    if (is_mapped() && !scales_) {
      chosen_.reader->gather_converted(rows, {}, copy_, out);
      return;
    }
    std::array<float, kGroup> room;
    for (std::size_t begin = 0; begin < rows.size(); begin += kGroup) {
      const auto part = rows.subspan(begin, std::min(kGroup, rows.size() - begin));
      std::byte* const to = out + begin * copy_.out_bytes();
      if (is_mapped()) {
        chosen_.reader->gather_converted(part, scales_of(part, room), copy_, to);
      } else if (cache_) {
        copy_cached(part, to);
      }
    }
  });
}

// At most kGroup rows.
void RowSource::copy_cached(std::span<const std::int64_t> rows, std::byte* out) {
  std::array<const std::byte*, kGroup> places;
  std::array<std::byte*, kGroup> outs;
  std::array<std::int64_t, kGroup> found;
  std::array<float, kGroup> room;
  std::size_t count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::byte* const place = cache_->find(static_cast<std::uint64_t>(rows[i]));
    if (place == nullptr) continue;
    places[count] = place;
    outs[count] = out + i * copy_.out_bytes();
    found[count++] = rows[i];
  }
  copy_.copy(std::span(places).first(count), scales_of(std::span(found).first(count), room),
             std::span(outs).first(count));
}

GatherCounts RowSource::copy_missed(const Misses& misses, RowRequest::Part part, std::byte* out) {
  RowRequest& request = *misses.request;
  GatherCounts counts;
  std::array<const std::byte*, kGroup> places;
  std::array<std::byte*, kGroup> outs;
  std::array<std::int64_t, kGroup> rows;
  std::array<float, kGroup> room;
  Buffer<std::byte> read;
  const std::uint32_t end = request.end(part.section);
  for (std::uint32_t first = request.begin(part.section); first < end;) {
    const std::size_t count = std::min<std::size_t>(kGroup, end - first);
    for (std::uint32_t i = 0; i < count; ++i) {
      rows[i] = static_cast<std::int64_t>(request.row(part.section, first + i));
      outs[i] = out + misses.places[first + i] * copy_.out_bytes();
      if (part.has_memory) places[i] = request.place(first + i);
    }
    if (!part.has_memory) {
      read.clear();
      std::byte* const to = read.extend(count * layout_.row_bytes);
      counts += chosen_.reader->gather(std::span(rows).first(count), to);
      for (std::size_t i = 0; i < count; ++i) places[i] = to + i * layout_.row_bytes;
    }
    guarded(*features_->mapping(), [&] {
      copy_.copy(std::span(places).first(count), scales_of(std::span(rows).first(count), room),
                 std::span(outs).first(count));
    });
    first += static_cast<std::uint32_t>(count);
  }
  request.taken(part.section);
  return counts;
}

}  // namespace gz
