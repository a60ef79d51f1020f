#include "core/convert/record_file.h"

#include <algorithm>
#include <cstring>

namespace gz {
namespace {

constexpr std::uint32_t kStarts = 1;
constexpr std::uint32_t kRecords = 2;

constexpr std::uint32_t kind_of(Direction direction, std::uint32_t role) {
  return role + (direction == Direction::kIn ? 16 : 0);
}

bool is_known(std::uint32_t kind) {
  return (kind % 16 == kStarts || kind % 16 == kRecords) && kind < 32;
}

}  // namespace

void RecordFileWriter::begin(Direction direction, std::uint32_t shift) {
  direction_ = direction;
  shifts_[direction == Direction::kIn] = shift;
  count_ = 0;
  starts_.assign(1, 0);
  container_.begin(kind_of(direction, kRecords), Dtype::kUint8, kSectionRequired);
}

void RecordFileWriter::append(std::span<const std::byte> records) {
  container_.append(records);
  count_ += records.size() / record_size_;
}

void RecordFileWriter::end() {
  container_.end();
  container_.begin(kind_of(direction_, kStarts), Dtype::kInt64, kSectionRequired);
  container_.append(std::as_bytes(std::span(starts_)));
  container_.end();
}

void RecordFileWriter::finish(RecordFields fields) {
  fields.out_shift = shifts_[0];
  fields.in_shift = shifts_[1];
  container_.finish(std::as_bytes(std::span(&fields, 1)), 0);
}

RecordFile::RecordFile(const std::string& path) : file_(path) {
  const Container container = read_container(file_, kRecordMagic, is_known);
  std::memcpy(&fields_, container.page.data() + kFieldsOffset, sizeof fields_);
  if (fields_.record_size == 0 || fields_.out_shift > 63 || fields_.in_shift > 63)
    throw FormatError(path, "expected records of an edge list, found a header without their size");
  out_ = read_index(container, Direction::kOut, fields_.out_shift);
  in_ = read_index(container, Direction::kIn, fields_.in_shift);
}

std::optional<RecordIndex> RecordFile::read_index(const Container& container, Direction direction,
                                                  std::uint32_t shift) const {
  const Section* const starts = container.find(kind_of(direction, kStarts));
  const Section* const records = container.find(kind_of(direction, kRecords));
  if (starts == nullptr || records == nullptr) return std::nullopt;
  RecordIndex index;
  index.shift = shift;
  index.offset = records->offset;
  index.starts.resize(static_cast<std::size_t>(starts->length / sizeof(std::uint64_t)));
  file_.read_exact_at(std::as_writable_bytes(std::span(index.starts)), starts->offset);
  const bool holds = !index.starts.empty() && index.starts.front() == 0 &&
                     std::is_sorted(index.starts.begin(), index.starts.end()) &&
                     index.starts.back() == records->length / fields_.record_size &&
                     xxh64(std::as_bytes(std::span(index.starts))) == starts->checksum;
  if (!holds) {
    throw FormatError(file_.path(), "the table of its buckets does not fit its ",
                      records->length / fields_.record_size,
                      " records: it is damaged, repeat the step that wrote it");
  }
  return index;
}

}  // namespace gz
