#include "core/convert/index_part.h"

#include <algorithm>
#include <atomic>

#include "core/base/parallel.h"
#include "core/convert/bucket_writer.h"

namespace gz {
namespace {

struct Range {
  std::uint32_t shift;
  std::uint64_t begin, end;  // buckets
};

template <class Narrow>
typename EdgeBuckets<Narrow>::Sorted blocks_of(const RecordSet& records, Direction direction,
                                               const Range& range) {
  typename EdgeBuckets<Narrow>::Sorted sorted;
  sorted.shift = range.shift;
  sorted.first = range.begin;
  sorted.buckets.resize(static_cast<std::size_t>(range.end - range.begin));
  for (std::size_t i = 0; i < records.files().size(); ++i) {
    const RecordFile& file = *records.files()[i];
    const RecordIndex& index = *file.index(direction);
    const std::uint64_t record = file.fields().record_size;
    // Buckets of this file may be narrower than those of the part.
    const auto own_of = [&](std::uint64_t bucket) {
      return std::min<std::uint64_t>(bucket << (range.shift - index.shift),
                                     index.starts.size() - 1);
    };
    for (std::uint64_t bucket = range.begin; bucket < range.end; ++bucket) {
      for (std::uint64_t own = own_of(bucket); own < own_of(bucket + 1); ++own) {
        std::uint64_t number = index.blocks[own];
        for (std::uint64_t at = index.starts[own]; at < index.starts[own + 1]; ++number) {
          RecordBlock block;
          block.wide = (file.fields().kinds & kRecordWide) != 0;
          block.count = static_cast<std::uint32_t>(
              std::min(index.starts[own + 1] - at, records_in_block(record)));
          block.file = &file.file();
          block.offset = index.offset + at * record;
          block.first_edge = records.first_edge(i);
          block.checksum = index.checksums[number];
          at += block.count;
          sorted.buckets[bucket - range.begin].push_back(std::move(block));
        }
      }
    }
  }
  return sorted;
}

}  // namespace

IdWidth node_id_width(const RecordSet& records) {
  return id_width_for(std::max(records.totals().num_src_nodes, records.totals().num_dst_nodes));
}

IdWidth edge_id_width(const RecordSet& records) { return id_width_for(records.totals().num_rows); }

void compile_part(const RecordSet& records, const PartPlace& place, const std::string& path) {
  const EdgeConverterOptions& options = records.options();
  const RecordSet::Cuts cuts = records.cuts(place.direction, place.num_parts);
  const Range range = {cuts.shift, cuts.bounds[place.part], cuts.bounds[place.part + 1]};
  const std::uint64_t num_nodes = records.num_nodes(place.direction);
  const auto node_of = [&](std::uint64_t bucket) {
    return std::min(bucket << range.shift, num_nodes);
  };
  const std::uint64_t num_neighbors = records.num_nodes(
      options.directed && place.direction == Direction::kOut ? Direction::kIn : Direction::kOut);

  with_record(options.edge_ids, options.weights, options.times, [&]<class Narrow>() {
    auto sorted = blocks_of<Narrow>(records, place.direction, range);
    IndexShape shape;
    shape.direction = place.direction;
    shape.first_node = node_of(range.begin);
    shape.num_nodes = node_of(range.end) - shape.first_node;
    shape.num_entries = sorted.num_records();
    shape.id_width = node_id_width(records);
    shape.edge_id_width = edge_id_width(records);
    shape.edge_ids = options.edge_ids;
    shape.weights = options.weights;
    shape.weight_sums = false;
    shape.times = options.times;
    shape.drop_duplicates = options.drop_duplicates;

    GlWriter writer(path, kPartMagic);
    IndexOutput output(writer, shape, options.temporary_folder);
    const auto threads = static_cast<std::uint64_t>(num_threads());
    const BucketWriterOptions writing = {options.memory / 2 / threads, 64 << 10, options.memory / 8,
                                         bits_below(num_neighbors),
                                         bits_below(records.totals().num_rows)};
    RecordMemory memory(0, 0, options.temporary_folder);  // only for buckets that are split
    EdgeBuckets<Narrow> buckets(memory, 1);
    std::atomic<std::uint64_t> done{0};
    if (records.has_wide()) {
      write_buckets<typename Narrow::Wide>(buckets, std::move(sorted), output, writing, done);
    } else {
      write_buckets<Narrow>(buckets, std::move(sorted), output, writing, done);
    }
    output.finish();
    const auto first_edge = output.first_edge();
    const PartFields fields = {shape.first_node, shape.num_nodes, output.num_entries(),
                               output.num_duplicates(), first_edge.value_or(0)};
    writer.finish(std::as_bytes(std::span(&fields, 1)), first_edge ? kPartAscends : 0);
  });
}

}  // namespace gz
