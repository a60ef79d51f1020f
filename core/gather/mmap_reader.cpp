#include "core/gather/mmap_reader.h"

#include <algorithm>

#include "core/base/parallel.h"
#include "core/base/recycled_vector.h"
#include "core/store/page_requests.h"

namespace gz {
namespace {

// A chunk is this much of the file: long enough to keep requests in flight, and that its first rows
// and its look at the faults of a thread cost nothing beside it; short enough to balance threads.
constexpr std::size_t kLeastChunkBytes = 256 << 10;
constexpr std::size_t kMostChunkBytes = 512 << 10;
constexpr std::size_t kChunksPerThread = 8;

std::size_t rows_per_chunk(std::size_t count, std::size_t row_bytes) {
  row_bytes = std::max<std::size_t>(row_bytes, 1);
  const std::size_t even = count / (kChunksPerThread * static_cast<std::size_t>(num_threads()));
  return std::clamp<std::size_t>(
      std::clamp(even, kLeastChunkBytes / row_bytes, kMostChunkBytes / row_bytes), 16, 4096);
}

void request_rows(const MappedFile& mapping, const RowLayout& layout,
                  std::span<const std::int64_t> rows) {
  RecycledVector<std::int64_t> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end());
  PageRequests pages(0);
  for (const std::int64_t row : sorted)
    pages.touch(mapping.data() + layout.begin_of(static_cast<std::uint64_t>(row)),
                layout.row_bytes);
}

}  // namespace

GatherCounts MmapReader::gather(std::span<const std::int64_t> rows, std::byte* out) {
  return gather_converted(rows, {}, as_stored_, out);
}

GatherCounts MmapReader::gather_converted(std::span<const std::int64_t> rows,
                                          std::span<const float> scales, const RowCopy& copy,
                                          std::byte* out) {
  const std::size_t grain = rows_per_chunk(rows.size(), layout_.row_bytes);
  const std::byte* const data = mapping_->data() + layout_.data_offset;
  parallel_chunks(rows.size(), grain, [&](std::size_t begin, std::size_t end) {
    const auto request = [&](std::size_t first, std::size_t last) {
      request_rows(*mapping_, layout_, rows.subspan(first, last - first));
    };
    cold_detector_.stretch(begin, end, request, [&](std::size_t first, std::size_t last) {
      const std::size_t count = last - first;
      copy.copy(data, rows.subspan(first, count),
                scales.empty() ? scales : scales.subspan(first, count),
                out + first * copy.out_bytes());
    });
  });
  GatherCounts counts;
  counts.rows = rows.size();
  return counts;
}

}  // namespace gz
