// One task's edge records in the order of their buckets: what a conversion by parts exchanges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/format/container_writer.h"

namespace gz {

inline constexpr Magic kRecordMagic = {'G', 'R', 'A', 'P', 'H', 'Z', 'E', 'R'};

inline constexpr std::uint32_t kRecordEdges = 1;    // records have an edge id,
inline constexpr std::uint32_t kRecordWeights = 2;  // a weight,
inline constexpr std::uint32_t kRecordTimes = 4;    // a time,
inline constexpr std::uint32_t kRecordWide = 8;     // ids of 8 bytes

// The format's own bytes of the header page.
struct RecordFields {
  std::uint32_t kinds = 0;
  std::uint32_t record_size = 0;
  std::uint64_t num_rows = 0;
  std::uint64_t num_lines = 0;
  std::uint64_t num_bad_lines = 0;
  std::uint64_t num_self_loops = 0;
  std::uint64_t num_src_ids = 0;  // one more than the largest
  std::uint64_t num_dst_ids = 0;
  std::uint64_t smallest_id = 0;
  std::uint64_t spilled_bytes = 0;
  std::uint32_t out_shift = 0;  // bucket b has keys from b << shift on
  std::uint32_t in_shift = 0;
  std::uint64_t origin = 0;  // what they are the records of, as finish_records() was told
};
static_assert(sizeof(RecordFields) <= kFieldsSize);

// Records of a bucket are read, and have a checksum, by blocks of so many; the last may have fewer.
constexpr std::uint64_t records_in_block(std::uint64_t record_size) {
  return (256 << 10) / record_size;
}

// begin(), then append() … and end_bucket() for each bucket, then end(); the same for the other
// index; then finish(), which puts the file in place.
class RecordFileWriter {
 public:
  RecordFileWriter(const std::string& path, std::size_t record_size)
      : container_(path, kRecordMagic), record_size_(record_size) {}

  void begin(Direction direction, std::uint32_t shift);
  void append(std::span<const std::byte> records);
  void end_bucket();
  void end();
  // Shifts are known from begin().
  void finish(RecordFields fields);

 private:
  void end_block();

  ContainerWriter container_;
  std::size_t record_size_;
  Direction direction_ = Direction::kOut;
  std::uint32_t shifts_[2] = {0, 0};
  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> starts_;
  Xxh64 block_;
  std::uint64_t block_bytes_ = 0;  // of the block that is not full yet
  std::vector<std::uint64_t> checksums_;
};

// The records of one index in such a file.
struct RecordIndex {
  std::uint32_t shift = 0;
  std::uint64_t offset = 0;              // of the first record, in the file
  std::vector<std::uint64_t> starts;     // the first record of each bucket, then how many there are
  std::vector<std::uint64_t> blocks;     // the first block of each bucket, then how many there are
  std::vector<std::uint64_t> checksums;  // of each block
};

class RecordFile {
 public:
  // Throws FormatError if the header or a table is wrong; records are not read. Whoever reads them
  // compares the checksums of their blocks.
  explicit RecordFile(const std::string& path);

  const File& file() const { return file_; }
  const RecordFields& fields() const { return fields_; }
  // Empty if the conversion does not have this index.
  const std::optional<RecordIndex>& index(Direction direction) const {
    return direction == Direction::kOut ? out_ : in_;
  }

 private:
  std::optional<RecordIndex> read_index(const Container& container, Direction direction,
                                        std::uint32_t shift) const;

  File file_;
  RecordFields fields_;
  std::optional<RecordIndex> out_, in_;
};

}  // namespace gz
