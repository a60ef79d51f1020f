#include "core/format/container_writer.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "core/base/checked.h"
#include "core/base/parallel.h"

namespace gz {
namespace {

constexpr std::size_t kWriteSize = 4 << 20;
// Often enough to keep the device busy, seldom enough to cost nothing.
constexpr std::size_t kWritebackSize = 32 << 20;

// What has been written up to `position` goes to the device while more is made, so that little is
// left for the final sync; bytes before `begun` are on their way.
void start_writeback(AtomicFile& file, std::uint64_t position, std::uint64_t& begun) {
  if (position < begun + kWritebackSize) return;
  file.start_writeback(begun, position - begun);
  begun = position;
}

}  // namespace

void ContainerWriter::begin(std::uint32_t kind, Dtype dtype, std::uint32_t flags) {
  if (table_.size() == kMaxSections)
    throw std::length_error("a container holds at most 64 sections");
  table_.push_back({kind, static_cast<std::uint32_t>(dtype), flags, 0, position_, 0, 0});
  checksum_ = Xxh64();
}

void ContainerWriter::append(std::span<const std::byte> bytes) {
  checksum_.update(bytes);
  append_unsummed(bytes);
}

void ContainerWriter::append_unsummed(std::span<const std::byte> bytes) {
  table_.back().length += bytes.size();
  while (!bytes.empty()) {
    if (bytes.size() >= kWriteSize) {
      if (!pending_.empty()) flush();
      write(bytes.first(kWriteSize));
      bytes = bytes.subspan(kWriteSize);
      continue;
    }
    const std::size_t taken = std::min(bytes.size(), kWriteSize - pending_.size());
    pending_.insert(pending_.end(), bytes.begin(),
                    bytes.begin() + static_cast<std::ptrdiff_t>(taken));
    bytes = bytes.subspan(taken);
    if (pending_.size() == kWriteSize) flush();
  }
}

void ContainerWriter::flush() {
  write(pending_);
  pending_.clear();
}

void ContainerWriter::write(std::span<const std::byte> bytes) {
  file_.write_at(bytes, position_);
  position_ += bytes.size();
  start_writeback(file_, position_, writeback_);
  check_interrupt();
}

void ContainerWriter::end() {
  flush();
  table_.back().checksum = checksum_.digest();
  position_ = *checked_round_up(position_, kPage);
}

void ContainerWriter::rewind() {
  flush();
  SectionEntry& entry = table_.back();
  position_ = writeback_ = entry.offset;
  entry.length = 0;
  checksum_ = Xxh64();
}

void ContainerWriter::read_back(std::span<std::byte> out, std::uint64_t offset) const {
  file_.read_at(out, table_.back().offset + offset);
}

ContainerWriter::Reserved& ContainerWriter::reserve(std::uint32_t kind, Dtype dtype,
                                                    std::uint32_t flags, std::uint64_t length) {
  begin(kind, dtype, flags);
  table_.back().length = length;
  Reserved& reserved = reserved_.emplace_back();
  reserved.file_ = &file_;
  reserved.entry_ = table_.size() - 1;
  reserved.position_ = reserved.writeback_ = position_;
  reserved.end_ = position_ + length;
  position_ = *checked_round_up(reserved.end_, kPage);
  return reserved;
}

void ContainerWriter::Reserved::append(std::span<const std::byte> bytes) {
  if (bytes.size() > end_ - position_) throw std::length_error("a reserved section is full");
  checksum_.update(bytes);
  file_->write_at(bytes, position_);
  position_ += bytes.size();
  start_writeback(*file_, position_, writeback_);
}

void ContainerWriter::finish(std::span<const std::byte> fields, std::uint32_t flags) {
  for (const Reserved& reserved : reserved_) {
    if (reserved.position_ != reserved.end_)
      throw std::length_error("a reserved section is not full");
    table_[reserved.entry_].checksum = reserved.checksum_.digest();
  }
  HeaderPage page{};
  ContainerHeader header{};
  header.magic = magic_;
  header.version = kFormatVersion;
  header.byte_order = kByteOrder;
  header.file_size = position_;
  header.num_sections = static_cast<std::uint32_t>(table_.size());
  header.flags = flags;
  std::memcpy(page.data(), &header, sizeof header);
  std::memcpy(page.data() + kFieldsOffset, fields.data(), fields.size());
  std::memcpy(page.data() + kTableOffset, table_.data(), table_.size() * sizeof(SectionEntry));
  header.header_checksum = xxh64(page);
  std::memcpy(page.data(), &header, sizeof header);
  file_.resize(position_);
  file_.write_at(page, 0);
  file_.commit();
}

}  // namespace gz
