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

Range range_of(const RecordSet& records, const PartPlace& place) {
  const RecordSet::Cuts cuts = records.cuts(place.direction, place.num_parts);
  return {cuts.shift, cuts.bounds[place.part], cuts.bounds[place.part + 1]};
}

// The first bucket of a file within a bucket of the part, which is as wide or wider.
std::size_t own_bucket(const RecordIndex& index, const Range& range, std::uint64_t bucket) {
  const std::uint64_t own = bucket << (range.shift - index.shift);
  return static_cast<std::size_t>(std::min<std::uint64_t>(own, index.starts.size() - 1));
}

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
    for (std::uint64_t bucket = range.begin; bucket < range.end; ++bucket) {
      const std::size_t end = own_bucket(index, range, bucket + 1);
      for (std::size_t own = own_bucket(index, range, bucket); own < end; ++own) {
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

std::vector<std::pair<std::uint64_t, std::uint64_t>> part_slices(const RecordSet& records,
                                                                 const PartPlace& place) {
  const Range range = range_of(records, place);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> slices;
  for (const auto& file : records.files()) {
    const RecordIndex& index = *file->index(place.direction);
    const std::uint64_t size = file->fields().record_size;
    const std::uint64_t begin = index.starts[own_bucket(index, range, range.begin)];
    const std::uint64_t end = index.starts[own_bucket(index, range, range.end)];
    slices.emplace_back(index.offset + begin * size, (end - begin) * size);
  }
  return slices;
}

void compile_part(const RecordSet& records, const PartPlace& place, const std::string& path) {
  const EdgeConverterOptions& options = records.options();
  const EdgeReport& totals = records.totals();
  const Range range = range_of(records, place);
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
    shape.id_width = node_id_width(totals.num_src_nodes, totals.num_dst_nodes);
    shape.edge_id_width = id_width_for(totals.num_rows);
    shape.edge_ids = options.edge_ids;
    shape.weights = options.weights;
    shape.weight_sums = false;
    shape.times = options.times;
    shape.drop_duplicates = options.drop_duplicates;

    GlWriter writer(path, kPartMagic);
    IndexOutput output(writer, shape, options.temporary_folder);
    const auto threads = static_cast<std::uint64_t>(num_threads());
    const BucketWriterOptions writing = {options.memory / 2 / threads, 64 << 10, options.memory / 8,
                                         bits_below(num_neighbors), bits_below(totals.num_rows)};
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
    const PartFields fields = {
        shape.first_node,       shape.num_nodes,      output.num_entries(), output.num_duplicates(),
        first_edge.value_or(0), totals.num_src_nodes, totals.num_dst_nodes, totals.num_rows};
    const bool dropped = options.drop_duplicates || !options.directed ||
                         (options.drop_self_loops && totals.num_self_loops > 0);
    writer.finish(std::as_bytes(std::span(&fields, 1)),
                  (first_edge ? kPartAscends : 0) | (options.directed ? kPartDirected : 0) |
                      (options.bipartite ? kPartBipartite : 0) | (dropped ? kPartDropped : 0));
  });
}

}  // namespace gz
