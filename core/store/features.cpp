#include "core/store/features.h"

#include <stdexcept>

#include "core/base/error.h"

namespace gz {

Features::Features(const std::string& path)
    : file_(std::make_shared<const File>(path)), layout_(read_gd(*file_)) {
  mapping_ = std::make_shared<const MappedFile>(file_, MappedFile::Mode::kReadOnly);
  mapping_->advise(Advice::kRandom);
  mapping_->check_intact();  // nobody cut the file between the header's proof and the mapping
  row_bytes_ = byte_size(layout_.dtype, {layout_.shape.begin() + 1, layout_.shape.end()});
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

std::vector<std::uint8_t> Features::read_row(std::int64_t row) const {
  if (row < 0 || row >= num_rows()) {
    throw std::out_of_range(concat("row ", row, " is not in ", path(), ", which has ", num_rows(),
                                   " rows (0 to ", num_rows() - 1, ")"));
  }
  return guarded(*mapping_, [&] {
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(mapping_->data()) +
                              layout_.data_offset + static_cast<std::uint64_t>(row) * row_bytes_;
    return std::vector<std::uint8_t>(begin, begin + row_bytes_);
  });
}

}  // namespace gz
