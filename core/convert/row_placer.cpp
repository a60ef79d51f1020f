#include "core/convert/row_placer.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "core/base/path.h"
#include "core/convert/text_edges.h"

namespace gz {
namespace {

std::vector<std::uint64_t> no_rows_of(const std::vector<std::uint64_t>& row_shape) {
  std::vector<std::uint64_t> shape = {0};
  shape.insert(shape.end(), row_shape.begin(), row_shape.end());
  return shape;
}

}  // namespace

RowPlacer::RowPlacer(const std::string& path, Dtype dtype,
                     const std::vector<std::uint64_t>& row_shape, bool quantised,
                     std::uint64_t memory)
    : writer_(path, dtype, no_rows_of(row_shape)),
      folder_(folder_of(path)),
      row_bytes_(byte_size(dtype, row_shape)),
      scale_bytes_(quantised ? sizeof(float) : 0),
      room_(memory / 2),  // blocks and the writer have the rest
      range_rows_(std::clamp<std::uint64_t>(room_ / (row_bytes_ + scale_bytes_ + 1), 1,
                                            RowBuckets::kMostRows)),
      seen_file_(folder_) {
  if (quantised) writer_.append_scales({});  // an array without rows has an empty section
}

void RowPlacer::add(const PlacedRows& rows, std::uint64_t limit) {
  const auto scales = std::as_bytes(rows.scales);
  const std::size_t count = rows.ids.size();
  if (rows.lines.size() != count || rows.rows.size() != count * row_bytes_ ||
      scales.size() != count * scale_bytes_) {
    throw std::invalid_argument(
        "rows: expected a line, a row and a scale where there are scales, "
        "for each id, found another number of them");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto id = static_cast<std::uint64_t>(rows.ids[i]);
    if (id >= limit) {
      refuse({rows.lines[i], rows.ids[i], false});
      continue;
    }
    const std::byte* const bytes = rows.rows.data() + i * row_bytes_;
    const std::byte* const scale = scales.data() + i * scale_bytes_;
    end_ = std::max(end_, id + 1);
    if (!waiting_ && id < first_) begin_waiting();
    if (waiting_) {
      add_waiting(id, rows.lines[i], scale, bytes);
    } else {
      write_until(id / range_rows_ * range_rows_);
      put(id, rows.lines[i], scale, bytes);
    }
  }
}

void RowPlacer::close(std::uint64_t num_rows) {
  end_ = std::max(end_, num_rows);
  if (waiting_) {
    waiting_->close();
    writer_.rewind();
    first_ = 0;
  } else {
    write_until(end_ / range_rows_ * range_rows_);
    resize(end_ - first_);
    write();
  }
}

bool RowPlacer::write_range() {
  if (!waiting_ || first_ == end_) return false;
  resize(std::min(range_rows_, end_ - first_));
  read_written();
  waiting_->read(first_ / range_rows_, [&](std::uint64_t count, const auto& row) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto [place, bytes] = row(i);
      std::int64_t line;
      std::memcpy(&line, bytes, sizeof line);
      put(first_ + place, line, bytes + sizeof line, bytes + sizeof line + scale_bytes_);
    }
  });
  write();
  return true;
}

void RowPlacer::finish() {
  writer_.set_num_rows(first_);
  writer_.finish();
}

void RowPlacer::resize(std::uint64_t rows) {
  if (seen_.capacity() == 0) {
    rows_.reserve(range_rows_ * row_bytes_);
    scales_.reserve(scale_bytes_ > 0 ? range_rows_ : 0);
    seen_.reserve(range_rows_);
  }
  rows_.resize(rows * row_bytes_);
  scales_.resize(scale_bytes_ > 0 ? rows : 0);
  seen_.resize(rows);
}

void RowPlacer::put(std::uint64_t row, std::int64_t line, const std::byte* scale,
                    const std::byte* bytes) {
  const std::uint64_t place = row - first_;
  if (place >= seen_.size()) resize(place + 1);
  if (seen_[place]) {
    refuse({line, static_cast<std::int64_t>(row), true});
    return;
  }
  seen_[place] = 1;
  ++num_given_;
  std::copy_n(bytes, row_bytes_, rows_.data() + place * row_bytes_);
  std::copy_n(scale, scale_bytes_,
              std::as_writable_bytes(std::span(scales_)).data() + place * scale_bytes_);
}

void RowPlacer::write() {
  writer_.append(rows_);
  if (scale_bytes_ > 0) writer_.append_scales(scales_);
  first_ += seen_.size();
  rows_.clear();
  scales_.clear();
  seen_.clear();
}

// The ranges before row `first`, a multiple of range_rows_.
void RowPlacer::write_until(std::uint64_t first) {
  while (first_ < first) {
    resize(range_rows_);
    note_gaps();
    write();
  }
}

void RowPlacer::note_gaps() {
  const bool full = std::find(seen_.begin(), seen_.end(), 0) == seen_.end();
  gaps_.push_back(full ? std::nullopt
                       : std::optional(seen_file_.append(std::as_bytes(std::span(seen_)))));
}

void RowPlacer::begin_waiting() {
  note_gaps();
  write();
  written_ = first_;
  std::vector<std::byte>().swap(rows_);
  std::vector<float>().swap(scales_);
  std::vector<std::uint8_t>().swap(seen_);
  waiting_.emplace(folder_, range_rows_, sizeof(std::int64_t) + scale_bytes_ + row_bytes_, room_);
}

void RowPlacer::add_waiting(std::uint64_t id, std::int64_t line, const std::byte* scale,
                            const std::byte* bytes) {
  std::byte* const record = waiting_->add(id);
  std::memcpy(record, &line, sizeof line);
  std::copy_n(scale, scale_bytes_, record + sizeof line);
  std::copy_n(bytes, row_bytes_, record + sizeof line + scale_bytes_);
}

// What the current range had when it was written first.
void RowPlacer::read_written() {
  if (written_ <= first_) return;
  const std::uint64_t count = std::min<std::uint64_t>(written_ - first_, seen_.size());
  writer_.read_back(std::span(rows_).first(count * row_bytes_), first_ * row_bytes_);
  if (scale_bytes_ > 0) writer_.read_back_scales(std::span(scales_).first(count), first_);
  const auto seen = std::span(seen_).first(count);
  if (const auto offset = gaps_[first_ / range_rows_]) {
    seen_file_.read_exact_at(std::as_writable_bytes(seen), *offset);
  } else {
    std::fill(seen.begin(), seen.end(), 1);
  }
}

void RowPlacer::refuse(RefusedRow row) {
  ++refused_.count;
  if (refused_.first.size() < kMaxBadLines) refused_.first.push_back(row);
}

}  // namespace gz
