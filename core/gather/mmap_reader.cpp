#include "core/gather/mmap_reader.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/prefetch.h"
#include "core/store/page_requests.h"

namespace gz {
namespace {

constexpr std::size_t kLine = 64;

// A chunk is this much of the output: long enough to keep requests in flight, short enough to
// balance threads.
constexpr std::size_t kChunkBytes = 256 << 10;

// Lines on their way at a time. A core has room for 10 to 16; the next levels queue some more.
constexpr std::size_t kLinesAhead = 48;

// A row of a size the compiler knows is copied without a call.
template <std::size_t kSize>
struct FixedSize {
  constexpr operator std::size_t() const { return kSize; }
};

template <class Body>
void with_row_size(std::size_t size, Body&& body) {
  switch (size) {
    case 1:
      return body(FixedSize<1>());
    case 2:
      return body(FixedSize<2>());
    case 4:
      return body(FixedSize<4>());
    case 8:
      return body(FixedSize<8>());
    case 16:
      return body(FixedSize<16>());
    case 32:
      return body(FixedSize<32>());
    case 64:
      return body(FixedSize<64>());
    case 128:
      return body(FixedSize<128>());
    case 256:
      return body(FixedSize<256>());
    default:
      return body(size);
  }
}

template <class Size>
void copy_rows(const std::byte* data, std::span<const std::int64_t> rows, std::byte* out,
               Size size) {
  const std::size_t lines = (size + kLine - 1) / kLine;
  // Beyond 4 kB the processor's own prefetcher has seen where a row goes.
  const std::size_t fetched = std::min<std::size_t>(lines, 64);
  const std::size_t ahead = std::clamp<std::size_t>(kLinesAhead / lines, 1, 32);
  const auto place = [&](std::size_t i) { return data + static_cast<std::size_t>(rows[i]) * size; };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + ahead < rows.size()) {
      const std::byte* const next = place(i + ahead);
      for (std::size_t line = 0; line < fetched; ++line) prefetch(next + line * kLine);
    }
    std::memcpy(out + i * size, place(i), size);
  }
}

void request_rows(const MappedFile& mapping, const RowLayout& layout,
                  std::span<const std::int64_t> rows) {
  std::vector<std::int64_t> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end());
  PageRequests pages(mapping, 0);
  for (const std::int64_t row : sorted)
    pages.touch(mapping.data() + layout.begin_of(static_cast<std::uint64_t>(row)),
                layout.row_bytes);
}

}  // namespace

GatherCounts MmapReader::gather(std::span<const std::int64_t> rows, std::byte* out) {
  const std::size_t size = layout_.row_bytes;
  const std::size_t grain =
      std::clamp<std::size_t>(kChunkBytes / std::max<std::size_t>(size, 1), 16, 4096);
  const std::byte* const data = mapping_->data() + layout_.data_offset;
  parallel_chunks(rows.size(), grain, [&](std::size_t begin, std::size_t end) {
    const auto part = rows.subspan(begin, end - begin);
    const bool cold = warmth_.cold();
    if (cold) request_rows(*mapping_, layout_, part);
    Warmth::Stretch stretch(warmth_);
    with_row_size(size, [&](auto known) { copy_rows(data, part, out + begin * size, known); });
    if (!cold) stretch.end(part.size());
  });
  GatherCounts counts;
  counts.rows = rows.size();
  return counts;
}

}  // namespace gz
