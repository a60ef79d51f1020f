#include "core/convert/reorder_features.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/base/dispatch.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/convert/row_buckets.h"
#include "core/format/gd_writer.h"

namespace gz {
namespace {

constexpr std::uint64_t kBlock = RowBuckets::kBlock;

// A bucket, or rows on their way into buckets, take three quarters of the memory; blocks and the
// writer the rest.
constexpr std::uint64_t kLeastMemory = 32 << 20;
constexpr std::uint64_t room_of(std::uint64_t memory) { return memory / 4 * 3; }

// With more buckets, stretches of one would be too short to read.
constexpr std::uint64_t kMostBuckets = 512;

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }

}  // namespace

FeatureReorderer::FeatureReorderer(std::string path)
    : file_(std::move(path)), layout_(read_gd(file_)) {
  row_bytes_ = byte_size(layout_.dtype, {layout_.shape.begin() + 1, layout_.shape.end()});
  scale_bytes_ = layout_.scale_offset ? sizeof(float) : 0;
}

std::uint64_t FeatureReorderer::least_memory() const {
  const std::uint64_t bytes = row_bytes_ + scale_bytes_;
  const std::uint64_t bucket = divide_up(num_rows(), kMostBuckets) * bytes;
  // A row of megabytes is a block, too, and must fit the last quarter.
  return std::max(kLeastMemory + 4 * bytes, divide_up(bucket, 3) * 4 + 4);
}

std::uint64_t FeatureReorderer::rows_per_bucket(std::uint64_t memory) const {
  const std::uint64_t bytes = row_bytes_ + scale_bytes_;
  const std::uint64_t room = room_of(std::max(memory, least_memory()));
  if (bytes == 0 || num_rows() <= room / bytes) return num_rows();
  return std::min(room / bytes, RowBuckets::kMostRows);
}

std::uint64_t FeatureReorderer::total(std::uint64_t memory) const {
  const std::uint64_t times = rows_per_bucket(memory) == num_rows() ? 2 : 4;
  return times * num_rows() * (row_bytes_ + scale_bytes_);
}

template <class Id>
class FeatureReorderer::Job {
 public:
  Job(FeatureReorderer& source, std::span<const Id> places, const std::string& path,
      const ReorderOptions& options)
      : source_(source),
        places_(places),
        row_bytes_(source.row_bytes_),
        scale_bytes_(source.scale_bytes_),
        room_(room_of(std::max(options.memory, source.least_memory()))),
        bucket_rows_(source.rows_per_bucket(options.memory)),
        writer_(path, source.layout_.dtype, source.layout_.shape),
        temporary_folder_(options.temporary_folder) {
    if (source.layout_.row_map) read_targets();
    if (scale_bytes_ > 0) writer_.append_scales({});  // an array without rows has an empty section
  }

  void run() {
    const std::uint64_t num_rows = source_.num_rows();
    if (bucket_rows_ == num_rows) {
      write_all_at_once();
    } else {
      RowBuckets buckets(temporary_folder_, bucket_rows_, scale_bytes_ + row_bytes_, room_);
      scatter(buckets);
      std::vector<Id>().swap(targets_);
      for (std::uint64_t begin = 0; begin < num_rows; begin += bucket_rows_)
        write_bucket(buckets, begin);
    }
    writer_.append_row_map(places_);
    writer_.finish();
  }

 private:
  // Rows of the source as they lie there.
  struct Block {
    std::uint64_t first;
    std::uint64_t count;
    const std::byte* rows;
    const std::byte* scales;
  };

  // A range of the output in memory.
  struct Bucket {
    std::unique_ptr<std::byte[]> rows;
    std::unique_ptr<float[]> scales;
  };

  // The output row that stored row `row` of the source becomes.
  std::uint64_t target(std::uint64_t row) const {
    return static_cast<std::uint64_t>(targets_.empty() ? places_[row] : targets_[row]);
  }

  void count_done(std::uint64_t rows) {
    source_.done_.fetch_add(rows * (row_bytes_ + scale_bytes_), std::memory_order_relaxed);
  }

  // The source has its own order: target(its place of an id) is our place of that id.
  void read_targets() {
    const GdRowMap& map = *source_.layout_.row_map;
    targets_.assign(places_.size(), Id{-1});
    with_id_type(map.width, [&]<class Stored>() {
      std::vector<Stored> block(std::min<std::uint64_t>(kBlock / sizeof(Stored), places_.size()));
      for (std::uint64_t first = 0; first < places_.size(); first += block.size()) {
        const auto part =
            std::span(block).first(std::min<std::uint64_t>(block.size(), places_.size() - first));
        source_.file_.read_exact_at(std::as_writable_bytes(part),
                                    map.offset + first * sizeof(Stored));
        for (std::size_t i = 0; i < part.size(); ++i) set_target(first + i, part[i]);
        check_interrupt();
      }
    });
  }

  void set_target(std::uint64_t id, std::int64_t stored) {
    const auto row = static_cast<std::uint64_t>(stored);
    if (row >= targets_.size()) {
      throw FormatError(source_.file_.path(), "corrupt row_map at row ", id,
                        ": expected a place below ", targets_.size(), ", found ", stored);
    }
    if (targets_[row] >= 0) {
      throw FormatError(source_.file_.path(), "corrupt row_map at row ", id,
                        ": expected a place of its own, found ", row, ", where another row is");
    }
    targets_[row] = places_[id];
  }

  // body(Block) for all rows of the source, in order.
  template <class Body>
  void for_each_block(Body&& body) {
    const std::uint64_t end = source_.num_rows();
    const std::uint64_t at_once = std::clamp<std::uint64_t>(
        kBlock / std::max<std::uint64_t>(row_bytes_ + scale_bytes_, 1), 1, end);
    const auto rows = std::make_unique_for_overwrite<std::byte[]>(at_once * row_bytes_);
    const auto scales = std::make_unique_for_overwrite<std::byte[]>(at_once * scale_bytes_);
    const GdLayout& layout = source_.layout_;
    for (std::uint64_t first = 0; first < end; first += at_once) {
      const std::uint64_t count = std::min(at_once, end - first);
      source_.file_.read_exact_at({rows.get(), count * row_bytes_},
                                  layout.data_offset + first * row_bytes_);
      if (scale_bytes_ > 0) {
        source_.file_.read_exact_at({scales.get(), count * scale_bytes_},
                                    *layout.scale_offset + first * scale_bytes_);
      }
      body(Block{first, count, rows.get(), scales.get()});
      count_done(count);
      check_interrupt();
    }
  }

  Bucket make_bucket(std::uint64_t rows) const {
    return {std::make_unique_for_overwrite<std::byte[]>(rows * row_bytes_),
            std::make_unique_for_overwrite<float[]>(scale_bytes_ > 0 ? rows : 0)};
  }

  void put(const Bucket& bucket, std::uint64_t place, const std::byte* row,
           const std::byte* scale) const {
    std::memcpy(bucket.rows.get() + place * row_bytes_, row, row_bytes_);
    if (scale_bytes_ > 0) std::memcpy(&bucket.scales[place], scale, scale_bytes_);
  }

  void write(const Bucket& bucket, std::uint64_t rows) {
    for (std::uint64_t done = 0; done < rows;) {
      const std::uint64_t part = std::min(
          rows - done, std::max<std::uint64_t>(kBlock / std::max<std::uint64_t>(row_bytes_, 1), 1));
      writer_.append({bucket.rows.get() + done * row_bytes_, part * row_bytes_});
      count_done(part);
      done += part;
    }
    if (scale_bytes_ > 0) writer_.append_scales({bucket.scales.get(), rows});
  }

  void write_all_at_once() {
    const std::uint64_t num_rows = source_.num_rows();
    if (row_bytes_ + scale_bytes_ == 0 || num_rows == 0) return;
    const Bucket all = make_bucket(num_rows);
    for_each_block([&](const Block& block) {
      parallel_for(block.count, [&](std::size_t i) {
        put(all, target(block.first + i), block.rows + i * row_bytes_,
            block.scales + i * scale_bytes_);
      });
    });
    write(all, num_rows);
  }

  void scatter(RowBuckets& buckets) {
    for_each_block([&](const Block& block) {
      for (std::uint64_t i = 0; i < block.count; ++i) {
        std::byte* const bytes = buckets.add(target(block.first + i));
        if (scale_bytes_ > 0) std::memcpy(bytes, block.scales + i * scale_bytes_, scale_bytes_);
        std::memcpy(bytes + scale_bytes_, block.rows + i * row_bytes_, row_bytes_);
      }
      count_done(block.count);
    });
    buckets.close();
  }

  void write_bucket(const RowBuckets& buckets, std::uint64_t begin) {
    const std::uint64_t num_rows = std::min(bucket_rows_, source_.num_rows() - begin);
    const Bucket bucket = make_bucket(num_rows);
    buckets.read(begin / bucket_rows_, [&](std::uint64_t count, const auto& row) {
      parallel_for(count, [&](std::size_t i) {
        const auto [place, bytes] = row(i);
        put(bucket, place, bytes + scale_bytes_, bytes);
      });
      count_done(count);
    });
    write(bucket, num_rows);
  }

  FeatureReorderer& source_;
  std::span<const Id> places_;
  std::vector<Id> targets_;  // by stored row of the source; empty if those are in order of ids
  std::uint64_t row_bytes_;
  std::uint64_t scale_bytes_;
  std::uint64_t room_;
  std::uint64_t bucket_rows_;
  GdWriter writer_;
  std::string temporary_folder_;
};

void FeatureReorderer::write(const std::string& path, const RowPlaces& places,
                             const ReorderOptions& options) {
  if (places.size() != num_rows()) {
    throw std::invalid_argument(concat(file_.path(), ": expected an order of its ", num_rows(),
                                       " rows, found one of ", places.size()));
  }
  done_ = 0;
  places.visit(
      [&]<class Id>(std::span<const Id> by_id) { Job<Id>(*this, by_id, path, options).run(); });
}

}  // namespace gz
