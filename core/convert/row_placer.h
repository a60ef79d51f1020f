// Rows that say their own places, in any order, written to a .gd in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/temporary_file.h"
#include "core/convert/row_buckets.h"
#include "core/format/gd_writer.h"

namespace gz {

// Rows of some input; item i of each span belongs to row i.
struct PlacedRows {
  std::span<const std::int64_t> ids;
  std::span<const std::int64_t> lines;  // where rows came from, for refused ones
  std::span<const std::byte> rows;
  std::span<const float> scales;  // of quantised rows
};

// A row that was left out.
struct RefusedRow {
  std::int64_t line = 0;
  std::int64_t id = 0;
  bool is_second = false;  // the id had a row; otherwise it is out of bounds
};

// The first rows that were refused, and how many there were.
struct RefusedRows {
  std::vector<RefusedRow> first;
  std::uint64_t count = 0;
};

// The file is a sequence of ranges that fit the memory. Rows go to the current range; one that is
// beyond it has it written. From the first row on that is before it, all rows wait in RowBuckets
// and the file is written once more. The first row of an id counts; absent ones are zero.
//
// add() … , then close(), write_range() as long as it says so, finish(). Destroyed without finish()
// it leaves the target path as it was. For one thread at a time.
class RowPlacer {
 public:
  // Holds about `memory` bytes, or a row.
  RowPlacer(const std::string& path, Dtype dtype, const std::vector<std::uint64_t>& row_shape,
            bool quantised, std::uint64_t memory);

  // Refuses ids that are not below `limit`. Throws std::invalid_argument if lengths differ.
  void add(const PlacedRows& rows, std::uint64_t limit);
  // No more rows come. The file has `num_rows`, or more if an id asks for them.
  void close(std::uint64_t num_rows);
  // Writes a range of rows that waited. Returns false if there is none left.
  bool write_range();
  void finish();

  // Gives those refused since it was asked before.
  RefusedRows take_refused() { return std::exchange(refused_, {}); }
  // Rows the file has so far.
  std::uint64_t num_rows() const { return first_ + seen_.size(); }
  // Those of them that were given.
  std::uint64_t num_given() const { return num_given_; }

 private:
  void resize(std::uint64_t rows);
  void put(std::uint64_t row, std::int64_t line, const std::byte* scale, const std::byte* bytes);
  void write();
  void write_until(std::uint64_t first);
  void note_gaps();
  void begin_waiting();
  void add_waiting(std::uint64_t id, std::int64_t line, const std::byte* scale,
                   const std::byte* bytes);
  void read_written();
  void refuse(RefusedRow row);

  GdWriter writer_;
  std::string folder_;
  std::uint64_t row_bytes_;
  std::uint64_t scale_bytes_;  // of a row
  std::uint64_t room_;
  std::uint64_t range_rows_;

  // The current range, from row first_ on; grows up to range_rows_.
  std::uint64_t first_ = 0;
  std::vector<std::byte> rows_;
  std::vector<float> scales_;
  std::vector<std::uint8_t> seen_;  // 1 for a row that was given

  std::uint64_t end_ = 0;      // of the rows: the largest id asks for them, or close() does
  std::uint64_t written_ = 0;  // rows that were written before others waited
  std::vector<std::optional<std::uint64_t>> gaps_;  // by range written: where its seen_ is
  TemporaryFile seen_file_;
  std::optional<RowBuckets> waiting_;

  std::uint64_t num_given_ = 0;
  RefusedRows refused_;
};

}  // namespace gz
