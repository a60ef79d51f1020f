#include "core/store/row_map.h"

#include <utility>
#include <vector>

#include "core/base/dispatch.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/base/prefetch.h"
#include "core/store/page_requests.h"

namespace gz {
namespace {

constexpr std::size_t kGrain = 4096;
constexpr std::size_t kAhead = 16;  // lines on their way; a core has room for 10 to 16

}  // namespace

RowMap::RowMap(std::shared_ptr<const MappedFile> mapping, const GdRowMap& layout,
               std::uint64_t num_rows)
    : mapping_(std::move(mapping)),
      places_(mapping_->data() + layout.offset),
      width_(layout.width),
      num_rows_(num_rows) {}

template <class Id>
std::int64_t RowMap::checked_place(std::int64_t id) const {
  const auto place = static_cast<std::int64_t>(reinterpret_cast<const Id*>(places_)[id]);
  if (static_cast<std::uint64_t>(place) >= num_rows_) [[unlikely]] {
    mapping_->check_intact();  // zeros of a vanished page must not be blamed on the format
    throw FormatError(mapping_->path(), "corrupt row_map at row ", id, ": expected a place below ",
                      num_rows_, ", found ", place);
  }
  return place;
}

std::int64_t RowMap::place_of(std::int64_t id) const {
  return with_id_type(width_, [&]<class Id>() { return checked_place<Id>(id); });
}

void RowMap::translate(std::span<const std::int64_t> ids, std::span<std::int64_t> rows) const {
  with_id_type(width_, [&]<class Id>() { translate_as<Id>(ids, rows); });
}

template <class Id>
void RowMap::translate_as(std::span<const std::int64_t> ids, std::span<std::int64_t> rows) const {
  const auto* const places = reinterpret_cast<const Id*>(places_);
  parallel_chunks(ids.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    const auto request = [&](std::size_t first, std::size_t last) {
      std::vector<const void*> addresses;
      addresses.reserve(last - first);
      for (std::size_t i = first; i < last; ++i) addresses.push_back(places + ids[i]);
      request_scattered(addresses);
    };
    cold_detector_.stretch(begin, end, request, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        if (i + kAhead < last) prefetch(places + ids[i + kAhead]);
        rows[i] = checked_place<Id>(ids[i]);
      }
    });
  });
}

}  // namespace gz
