#include "core/gather/row_reader.h"

#include <algorithm>
#include <array>

#include "core/base/buffer.h"
#include "core/base/parallel.h"

namespace gz {
namespace {

constexpr std::size_t kMostMemory = 8 << 20;  // of rows that wait, unless one is larger
constexpr std::size_t kRowsOfChunk = 512;

}  // namespace

GatherCounts RowReader::gather_converted(std::span<const std::int64_t> rows,
                                         std::span<const float> scales, const RowCopy& copy,
                                         std::byte* out) {
  const std::size_t size = copy.stored_bytes();
  const std::size_t at_once = std::min(std::max<std::size_t>(kMostMemory / size, 1), rows.size());
  Buffer<std::byte> stored;
  stored.reserve(at_once * size);
  GatherCounts counts;
  for (std::size_t first = 0; first < rows.size(); first += at_once) {
    const std::size_t count = std::min(at_once, rows.size() - first);
    counts += gather(rows.subspan(first, count), stored.data());
    parallel_chunks(count, kRowsOfChunk, [&](std::size_t begin, std::size_t end) {
      std::array<const std::byte*, kRowsOfChunk> places;
      for (std::size_t i = begin; i < end; ++i) places[i - begin] = stored.data() + i * size;
      copy.copy(std::span(places).first(end - begin),
                scales.empty() ? scales : scales.subspan(first + begin, end - begin),
                out + (first + begin) * copy.out_bytes());
    });
  }
  return counts;
}

}  // namespace gz
