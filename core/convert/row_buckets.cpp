#include "core/convert/row_buckets.h"

#include <limits>
#include <stdexcept>

#include "core/base/radix_sort.h"

namespace gz {
namespace {

// Records of this size are written one by one; shorter ones are joined into blocks first.
constexpr std::uint64_t kLongRecord = 256 << 10;

}  // namespace

RowBuckets::RowBuckets(const std::string& folder, std::uint64_t bucket_rows,
                       std::uint64_t row_bytes, std::uint64_t room)
    : bucket_rows_(bucket_rows),
      record_bytes_(sizeof(std::uint32_t) + row_bytes),
      most_held_(std::clamp<std::uint64_t>(room / (record_bytes_ + 2 * sizeof(Held)), 1,
                                           std::numeric_limits<std::uint32_t>::max())),
      file_(folder) {
  records_ = std::make_unique_for_overwrite<std::byte[]>(most_held_ * record_bytes_);
  held_.reserve(most_held_);
}

std::byte* RowBuckets::add(std::uint64_t place) {
  if (held_.size() == most_held_) flush();
  const std::uint64_t bucket = place / bucket_rows_;
  if (bucket > std::numeric_limits<std::uint32_t>::max())
    throw std::length_error("rows: too many for this memory; give more memory=");
  const auto index = static_cast<std::uint32_t>(held_.size());
  held_.push_back({static_cast<std::uint32_t>(bucket), index});
  std::byte* const record = records_.get() + index * record_bytes_;
  const auto within = static_cast<std::uint32_t>(place % bucket_rows_);
  std::memcpy(record, &within, sizeof within);
  return record + sizeof within;
}

void RowBuckets::flush() {
  scratch_.resize(held_.size());
  std::uint32_t last = 0;
  for (const Held& held : held_) last = std::max(last, held.bucket);
  radix_sort(held_, scratch_, 0, bits_below(std::uint64_t{last} + 1),
             [](const Held& held) { return held.bucket; });
  std::uint64_t offset = file_.size();
  for (std::size_t begin = 0; begin < held_.size();) {
    std::size_t end = begin + 1;
    while (end < held_.size() && held_[end].bucket == held_[begin].bucket) ++end;
    runs_.push_back({held_[begin].bucket, end - begin, offset});
    offset += (end - begin) * record_bytes_;
    begin = end;
  }
  append_records();
  held_.clear();
}

void RowBuckets::append_records() {
  const std::uint64_t at_once = record_bytes_ >= kLongRecord ? 1 : kBlock / record_bytes_;
  const auto record = [&](std::size_t i) {
    return records_.get() + held_[i].index * record_bytes_;
  };
  std::unique_ptr<std::byte[]> block;
  if (at_once > 1) block = std::make_unique_for_overwrite<std::byte[]>(at_once * record_bytes_);
  for (std::size_t begin = 0; begin < held_.size(); begin += at_once) {
    const std::size_t count = std::min<std::size_t>(at_once, held_.size() - begin);
    if (block) {
      parallel_for(count, [&](std::size_t i) {
        std::memcpy(block.get() + i * record_bytes_, record(begin + i), record_bytes_);
      });
    }
    file_.append({block ? block.get() : record(begin), count * record_bytes_});
    check_interrupt();
  }
}

void RowBuckets::close() {
  flush();
  records_.reset();
  std::vector<Held>().swap(held_);
  std::vector<Held>().swap(scratch_);
  std::stable_sort(runs_.begin(), runs_.end(), comes_before);
}

}  // namespace gz
