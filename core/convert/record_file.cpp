#include "core/convert/record_file.h"

#include <algorithm>
#include <cstring>

namespace gz {
namespace {

constexpr std::uint32_t kStarts = 1;
constexpr std::uint32_t kRecords = 2;
constexpr std::uint32_t kChecksums = 3;

constexpr std::uint32_t kind_of(Direction direction, std::uint32_t role) {
  return role + (direction == Direction::kIn ? 16 : 0);
}

bool is_known(std::uint32_t kind) {
  return kind % 16 >= kStarts && kind % 16 <= kChecksums && kind < 32;
}

std::vector<std::uint64_t> read_table(const File& file, const Section& section) {
  std::vector<std::uint64_t> table(
      static_cast<std::size_t>(section.length / sizeof(std::uint64_t)));
  file.read_exact_at(std::as_writable_bytes(std::span(table)), section.offset);
  return table;
}

}  // namespace

void RecordFileWriter::begin(Direction direction, std::uint32_t shift) {
  direction_ = direction;
  shifts_[direction == Direction::kIn] = shift;
  count_ = 0;
  starts_.assign(1, 0);
  checksums_.clear();
  container_.begin(kind_of(direction, kRecords), Dtype::kUint8, kSectionRequired);
}

void RecordFileWriter::append(std::span<const std::byte> records) {
  container_.append_unsummed(records);  // blocks have checksums of their own
  count_ += records.size() / record_size_;
  const std::uint64_t full = records_in_block(record_size_) * record_size_;
  while (!records.empty()) {
    const auto taken =
        static_cast<std::size_t>(std::min<std::uint64_t>(records.size(), full - block_bytes_));
    block_.update(records.first(taken));
    block_bytes_ += taken;
    records = records.subspan(taken);
    if (block_bytes_ == full) end_block();
  }
}

void RecordFileWriter::end_block() {
  checksums_.push_back(block_.digest());
  block_ = Xxh64();
  block_bytes_ = 0;
}

void RecordFileWriter::end_bucket() {
  if (block_bytes_ > 0) end_block();
  starts_.push_back(count_);
}

void RecordFileWriter::end() {
  container_.end();
  const auto add_table = [&](std::uint32_t role, const std::vector<std::uint64_t>& table) {
    container_.begin(kind_of(direction_, role), Dtype::kInt64, kSectionRequired);
    container_.append(std::as_bytes(std::span(table)));
    container_.end();
  };
  add_table(kStarts, starts_);
  add_table(kChecksums, checksums_);
}

void RecordFileWriter::finish(RecordFields fields) {
  fields.out_shift = shifts_[0];
  fields.in_shift = shifts_[1];
  container_.finish(std::as_bytes(std::span(&fields, 1)), 0);
}

RecordFile::RecordFile(const std::string& path) : file_(path) {
  const Container container = read_container(file_, kRecordMagic, is_known);
  std::memcpy(&fields_, container.page.data() + kFieldsOffset, sizeof fields_);
  if (fields_.record_size == 0 || fields_.record_size > 64 || fields_.out_shift > 63 ||
      fields_.in_shift > 63)
    throw FormatError(path, "expected records of an edge list, found a header without their size");
  out_ = read_index(container, Direction::kOut, fields_.out_shift);
  in_ = read_index(container, Direction::kIn, fields_.in_shift);
}

std::optional<RecordIndex> RecordFile::read_index(const Container& container, Direction direction,
                                                  std::uint32_t shift) const {
  const Section* const starts = container.find(kind_of(direction, kStarts));
  const Section* const records = container.find(kind_of(direction, kRecords));
  const Section* const checksums = container.find(kind_of(direction, kChecksums));
  if (starts == nullptr || records == nullptr || checksums == nullptr) return std::nullopt;
  RecordIndex index;
  index.shift = shift;
  index.offset = records->offset;
  index.starts = read_table(file_, *starts);
  index.checksums = read_table(file_, *checksums);
  const auto is_intact = [](const std::vector<std::uint64_t>& table, const Section& section) {
    return xxh64(std::as_bytes(std::span(table))) == section.checksum;
  };
  bool holds = !index.starts.empty() && index.starts.front() == 0 &&
               std::is_sorted(index.starts.begin(), index.starts.end()) &&
               index.starts.back() == records->length / fields_.record_size &&
               is_intact(index.starts, *starts) && is_intact(index.checksums, *checksums);
  index.blocks.push_back(0);
  for (std::size_t bucket = 0; holds && bucket + 1 < index.starts.size(); ++bucket) {
    const std::uint64_t in_block = records_in_block(fields_.record_size);
    const std::uint64_t count = index.starts[bucket + 1] - index.starts[bucket];
    index.blocks.push_back(index.blocks.back() + (count + in_block - 1) / in_block);
  }
  holds = holds && index.blocks.back() == index.checksums.size();
  if (!holds) {
    throw FormatError(file_.path(), "the tables of its buckets do not fit its ",
                      records->length / fields_.record_size,
                      " records: it is damaged, remove it and repeat the step that wrote it");
  }
  return index;
}

}  // namespace gz
