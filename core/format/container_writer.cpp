#include "core/format/container_writer.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "core/base/checked.h"
#include "core/base/parallel.h"

namespace gz {
namespace {

constexpr std::size_t kWriteSize = 4 << 20;

}  // namespace

void ContainerWriter::begin(std::uint32_t kind, Dtype dtype, std::uint32_t flags) {
  if (table_.size() == kMaxSections)
    throw std::length_error("a container holds at most 64 sections");
  table_.push_back({kind, static_cast<std::uint32_t>(dtype), flags, 0, position_, 0, 0});
  checksum_ = Xxh64();
}

void ContainerWriter::append(std::span<const std::byte> bytes) {
  checksum_.update(bytes);
  table_.back().length += bytes.size();
  while (!bytes.empty()) {
    if (pending_.empty() && bytes.size() >= kWriteSize) {
      file_.write_at(bytes.first(kWriteSize), position_);
      position_ += kWriteSize;
      bytes = bytes.subspan(kWriteSize);
      check_interrupt();
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
  file_.write_at(pending_, position_);
  position_ += pending_.size();
  pending_.clear();
  check_interrupt();
}

void ContainerWriter::end() {
  flush();
  table_.back().checksum = checksum_.digest();
  position_ = *checked_round_up(position_, kPage);
}

void ContainerWriter::finish(std::span<const std::byte> fields, std::uint32_t flags) {
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
