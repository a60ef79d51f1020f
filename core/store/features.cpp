#include "core/store/features.h"

#include <algorithm>
#include <stdexcept>

#include "core/base/error.h"

namespace gz {

Features::Features(const std::string& path)
    : file_(std::make_shared<const File>(path)), layout_(read_gd(*file_)) {
  mapping_ = std::make_shared<const MappedFile>(file_, MappedFile::Mode::kReadOnly);
  mapping_->advise(Advice::kRandom);
  mapping_->check_intact();  // nobody cut the file between the header's proof and the mapping
  row_bytes_ = byte_size(layout_.dtype, {layout_.shape.begin() + 1, layout_.shape.end()});
  if (layout_.row_map)
    row_map_ = std::make_shared<const RowMap>(mapping_, *layout_.row_map, layout_.shape[0]);
}

std::int64_t Features::stored_row(std::int64_t id) const {
  if (id < 0 || id >= num_rows()) {
    throw std::out_of_range(concat("row ", id, " is not in ", path(), ", which has ", num_rows(),
                                   " rows (0 to ", num_rows() - 1, ")"));
  }
  if (!row_map_) return id;
  return guarded(*mapping_, [&] { return row_map_->place_of(id); });
}

void Features::translate(std::span<const std::int64_t> ids, std::span<std::int64_t> rows) const {
  if (row_map_) {
    row_map_->translate(ids, rows);
  } else {
    std::copy(ids.begin(), ids.end(), rows.begin());
  }
}

std::span<const float> Features::scales() const {
  if (!layout_.scale_offset) return {};
  return {reinterpret_cast<const float*>(mapping_->data() + *layout_.scale_offset),
          static_cast<std::size_t>(num_rows())};
}

std::shared_ptr<const MappedFile> Features::view(MappedFile::Mode mode, Advice advice) const {
  const std::lock_guard lock(mutex_);
  auto& view = views_[mode == MappedFile::Mode::kCopyOnWrite];
  if (!view) view = std::make_shared<const MappedFile>(file_, mode);
  view->advise(advice);
  return view;
}

void Features::scales_of(std::span<const std::int64_t> ids, std::span<float> out) const {
  if (!layout_.scale_offset) {
    throw std::invalid_argument(
        concat(path(), ": is not quantised, so its rows have no scales: they are values already"));
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= num_rows()) {
      throw std::out_of_range(concat("ids[", i, "]: row ", ids[i], " is not in ", path(),
                                     ", which has ", num_rows(), " rows"));
    }
  }
  guarded(*mapping_, [&] {
    std::vector<std::int64_t> rows(ids.size());
    translate(ids, rows);
    for (std::size_t i = 0; i < rows.size(); ++i)
      out[i] = scales()[static_cast<std::size_t>(rows[i])];
  });
}

std::vector<std::uint8_t> Features::read_row(std::int64_t id) const {
  const auto row = static_cast<std::uint64_t>(stored_row(id));
  return guarded(*mapping_, [&] {
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(mapping_->data()) +
                              layout_.data_offset + row * row_bytes_;
    return std::vector<std::uint8_t>(begin, begin + row_bytes_);
  });
}

}  // namespace gz
