#include "core/pipeline/row_source.h"

#include <algorithm>
#include <array>

#include "core/base/machine.h"
#include "core/gather/mmap_reader.h"
#include "core/gather/read_cost.h"
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
                            layout_.row_bytes == 0 ? ReaderKind::kMmap : reader)) {}

void RowSource::prepare() {
  const MappedFile& mapping = *features_->mapping();
  if (is_mapped()) {
    const std::uint64_t there = mapping.resident_bytes().value_or(mapping.size());
    const bool cold = there < mapping.size() - mapping.size() / 10;
    if (cold && mapping.size() < available_memory() / 2) mapping.preload();
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
  source.gap = read_cost(*chosen_.file, source.file_size).gap();
  return source;
}

std::vector<std::int64_t> RowSource::find_misses(std::span<const std::int64_t> ids,
                                                 Misses& misses) const {
  std::vector<std::int64_t> wanted;
  if (is_mapped()) return wanted;
  guarded(*features_->mapping(), [&] {
    std::array<std::int64_t, kGroup> rows;
    for (std::size_t begin = 0; begin < ids.size(); begin += kGroup) {
      const auto part = ids.subspan(begin, std::min(kGroup, ids.size() - begin));
      features_->translate(part, std::span(rows).first(part.size()));
      for (std::size_t i = 0; i < part.size(); ++i) {
        if (cache_ && cache_->find(static_cast<std::uint64_t>(rows[i])) != nullptr) continue;
        misses.places.push_back(static_cast<std::uint32_t>(begin + i));
        wanted.push_back(rows[i]);
      }
    }
  });
  return wanted;
}

void RowSource::request(std::span<const std::int64_t> rows) const {
  std::vector<std::int64_t> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end());
  PageRequests pages(*features_->mapping(), 0);
  for (const std::int64_t row : sorted)
    pages.touch(data() + static_cast<std::uint64_t>(row) * layout_.row_bytes, layout_.row_bytes);
}

void RowSource::copy_rows(std::span<const std::int64_t> ids, std::size_t first,
                          const Misses& misses, const Sweep* sweep, std::size_t source,
                          std::byte* out) {
  if (copy_.out_bytes() == 0) return;
  const std::span<const float> all_scales = copy_.needs_scales() ? features_->scales()
                                                                 : std::span<const float>();
  std::array<std::int64_t, kGroup> rows;
  std::array<const std::byte*, kGroup> places;
  std::array<float, kGroup> scales;
  auto miss = static_cast<std::size_t>(
      std::lower_bound(misses.places.begin(), misses.places.end(), first) - misses.places.begin());
  guarded(*features_->mapping(), [&] {
    const bool cold = is_mapped() && warmth_.cold();
    Warmth::Stretch stretch(warmth_);
    for (std::size_t begin = 0; begin < ids.size(); begin += kGroup) {
      const auto part = ids.subspan(begin, std::min(kGroup, ids.size() - begin));
      const std::size_t count = part.size();
      features_->translate(part, std::span(rows).first(count));
      std::vector<std::size_t> unslotted;
      if (is_mapped()) {
        if (cold) request(std::span(rows).first(count));
        for (std::size_t i = 0; i < count; ++i)
          places[i] = data() + static_cast<std::uint64_t>(rows[i]) * layout_.row_bytes;
      } else {
        const std::size_t end = first + begin + count;
        std::size_t next = miss < misses.places.size() ? misses.places[miss] : end;
        for (std::size_t i = 0; i < count; ++i) {
          if (first + begin + i < next) {
            places[i] = cache_->find(static_cast<std::uint64_t>(rows[i]));
            continue;
          }
          const Sweep::Slot slot = misses.slots[miss++];
          next = miss < misses.places.size() ? misses.places[miss] : end;
          if (slot == RowSlots::kNone) {
            unslotted.push_back(i);
          } else {
            places[i] = sweep->row(source, slot);
          }
        }
      }
      std::vector<std::byte> read(unslotted.size() * layout_.row_bytes);
      if (!unslotted.empty()) {
        std::vector<std::int64_t> wanted;
        for (const std::size_t i : unslotted) wanted.push_back(rows[i]);
        chosen_.reader->gather(wanted, read.data());
        for (std::size_t i = 0; i < unslotted.size(); ++i)
          places[unslotted[i]] = read.data() + i * layout_.row_bytes;
      }
      if (!all_scales.empty()) {
        for (std::size_t i = 0; i < count; ++i)
          scales[i] = all_scales[static_cast<std::size_t>(rows[i])];
      }
      copy_.copy(std::span(places).first(count),
                 std::span<const float>(scales).first(all_scales.empty() ? 0 : count),
                 out + begin * copy_.out_bytes());
    }
    if (is_mapped() && !cold) stretch.end(ids.size());
  });
}

}  // namespace gz
