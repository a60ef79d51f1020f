#include "core/convert/record_set.h"

#include <algorithm>
#include <stdexcept>

#include "core/base/error.h"
#include "core/convert/edge_buckets.h"

namespace gz {
namespace {

constexpr std::uint64_t kNarrowIds = std::uint64_t{1} << 32;

// So that parts can be cut to about the same size; more buckets than records are of no use.
constexpr std::size_t kBucketsPerPart = 16;

}  // namespace

RecordSet::RecordSet(const std::vector<std::string>& paths, const EdgeConverterOptions& options)
    : options_(options) {
  const bool payload = options.weights || options.times;
  const std::uint32_t expected = (options.edge_ids || payload ? kRecordEdges : 0) |
                                 (options.weights ? kRecordWeights : 0) |
                                 (options.times ? kRecordTimes : 0);
  std::uint64_t num_src = 0, num_dst = 0, smallest = ~std::uint64_t{0};
  for (const std::string& path : paths) {
    files_.push_back(std::make_unique<RecordFile>(path));
    const RecordFields& fields = files_.back()->fields();
    const bool indexes =
        files_.back()->index(Direction::kOut).has_value() == has_index(Direction::kOut) &&
        files_.back()->index(Direction::kIn).has_value() == has_index(Direction::kIn);
    if ((fields.kinds & ~kRecordWide) != expected || !indexes) {
      throw std::invalid_argument(
          concat(path,
                 ": expected records of this conversion, found those of one with other "
                 "options; give each conversion a folder of its own"));
    }
    has_wide_ = has_wide_ || (fields.kinds & kRecordWide) != 0;
    first_edges_.push_back(totals_.num_rows);
    totals_.num_rows += fields.num_rows;
    totals_.num_lines += fields.num_lines;
    totals_.bad_lines.count += fields.num_bad_lines;
    totals_.num_self_loops += fields.num_self_loops;
    totals_.spilled_bytes += fields.spilled_bytes;
    num_src = std::max(num_src, fields.num_src_ids);
    num_dst = std::max(num_dst, fields.num_dst_ids);
    if (fields.num_rows > 0) smallest = std::min(smallest, fields.smallest_id);
  }
  totals_.smallest_id = totals_.num_rows > 0 ? smallest : 0;
  totals_.largest_id = std::max<std::uint64_t>(std::max(num_src, num_dst), 1) - 1;
  const auto told = [](NodeId count, std::uint64_t found) {
    return count >= 0 ? static_cast<std::uint64_t>(count) : found;
  };
  num_src = told(options.num_src_nodes, num_src);
  num_dst = told(options.num_dst_nodes, num_dst);
  if (!options.bipartite) num_src = num_dst = std::max(num_src, num_dst);
  totals_.num_src_nodes = num_src;
  totals_.num_dst_nodes = num_dst;
  // The edge ids of a file count from 0; those of all may need more bits.
  has_wide_ = has_wide_ || totals_.num_rows > kNarrowIds;
}

std::vector<std::uint64_t> RecordSet::origins() const {
  std::vector<std::uint64_t> origins;
  for (const auto& file : files_) origins.push_back(file->fields().origin);
  return origins;
}

bool RecordSet::has_index(Direction direction) const {
  return direction == Direction::kOut ? options_.out_index || !options_.directed
                                      : options_.in_index && options_.directed;
}

std::uint64_t RecordSet::num_records(Direction direction) const {
  std::uint64_t total = 0;
  for (const auto& file : files_) total += file->index(direction)->starts.back();
  return total;
}

RecordSet::Cuts RecordSet::cuts(Direction direction, std::size_t num_parts) const {
  using Buckets = EdgeBuckets<EdgeRecord<std::uint32_t, false, false, false>>;
  const std::uint64_t num_keys = num_nodes(direction);
  const std::uint64_t num_records = this->num_records(direction);
  const std::size_t most = std::max(
      Buckets::buckets_for(num_records),
      std::min(Buckets::kBuckets, kBucketsPerPart * std::min(num_parts, Buckets::kBuckets)));
  Cuts cuts;
  for (const auto& file : files_) cuts.shift = std::max(cuts.shift, file->index(direction)->shift);
  while (num_keys > 0 && (num_keys - 1) >> cuts.shift >= most) ++cuts.shift;
  const std::uint64_t num_buckets = num_keys == 0 ? 0 : ((num_keys - 1) >> cuts.shift) + 1;

  // Records before each bucket.
  std::vector<std::uint64_t> before(static_cast<std::size_t>(num_buckets) + 1, 0);
  for (const auto& file : files_) {
    const RecordIndex& index = *file->index(direction);
    for (std::size_t bucket = 0; bucket < before.size(); ++bucket) {
      const std::uint64_t own = std::uint64_t{bucket} << (cuts.shift - index.shift);
      before[bucket] += index.starts[std::min<std::uint64_t>(own, index.starts.size() - 1)];
    }
  }
  for (std::size_t part = 0; part < num_parts; ++part) {
    // As num_records * part / num_parts, which may not fit.
    const std::uint64_t target =
        num_records / num_parts * part + num_records % num_parts * part / num_parts;
    const auto bound = std::lower_bound(before.begin(), before.end(), target);
    cuts.bounds.push_back(static_cast<std::uint64_t>(bound - before.begin()));
  }
  cuts.bounds.front() = 0;
  cuts.bounds.push_back(num_buckets);
  return cuts;
}

}  // namespace gz
