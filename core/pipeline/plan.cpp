#include "core/pipeline/plan.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/gather/row_request.h"

namespace gz {
namespace {

// The next batch may be larger than all that were seen: by as much as these differ, and by a
// hundredth to a tenth.
constexpr std::uint64_t kLeastMore = 100;
constexpr std::uint64_t kMostMore = 10;
constexpr std::size_t kTellSpread = 8;  // batches
// For each miss, on average: while its section is read, where it goes.
constexpr std::uint64_t kBesideMiss = 1;
// Of each miss of a batch whose sample is kept: its place there.
constexpr std::uint64_t kPlaceOfMiss = 4;
// One in so many batches ahead may be there before it is needed.
constexpr std::uint64_t kEarlyShare = 64;
// Spare, for chunks that are not full.
constexpr std::uint64_t kSpare = 50;
// A batch's chunks: enough for those that are not full to matter little.
constexpr std::uint64_t kChunksPerBatch = 64;
constexpr std::uint64_t kChunksPerAttribute = 8;
constexpr std::uint64_t kLeastChunk = 512;
constexpr std::uint64_t kMostChunk = 64 << 10;

// a * b / c, where the product may have 128 bits and the result has 64.
std::uint64_t scaled(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b / c);
}

// A chunk holds a power of two rows. It is cut for the attribute with the most bytes, so that
// nothing is left over there.
std::uint64_t chunk_bytes(std::span<const MissedRows> missed) {
  std::uint64_t total = 0, largest_row = 1, count = 0;
  const MissedRows* most = nullptr;
  for (const MissedRows& rows : missed) {
    if (rows.row_bytes == 0) continue;
    ++count;
    total += rows.rows * rows.row_bytes;
    largest_row = std::max(largest_row, rows.row_bytes);
    if (most == nullptr || rows.rows * rows.row_bytes > most->rows * most->row_bytes) most = &rows;
  }
  if (most == nullptr) return 1;
  const std::uint64_t wanted = std::clamp(
      total / std::max(kChunksPerBatch, kChunksPerAttribute * count), kLeastChunk, kMostChunk);
  const std::uint64_t rows = std::bit_floor(std::max<std::uint64_t>(wanted / most->row_bytes, 1));
  return std::max(rows * most->row_bytes, largest_row);
}

// What the rows of a batch take, with what chunks of other attributes leave over and one chunk of
// each that is not full.
std::uint64_t bytes_in_chunks(std::span<const MissedRows> missed, std::uint64_t chunk) {
  std::uint64_t sum = 0;
  for (const MissedRows& rows : missed) {
    if (rows.row_bytes == 0 || rows.rows == 0) continue;
    const std::uint64_t of_chunk = std::bit_floor(chunk / rows.row_bytes);
    sum += (rows.rows / of_chunk + 1) * chunk;
  }
  return sum;
}

}  // namespace

BatchBytes largest(std::span<const BatchBytes> batches) {
  const auto of = [&](std::uint64_t BatchBytes::* part) -> std::uint64_t {
    std::uint64_t most = 0, least = ~std::uint64_t{0};
    for (const BatchBytes& batch : batches) {
      most = std::max(most, batch.*part);
      least = std::min(least, batch.*part);
    }
    const std::uint64_t spread = batches.size() < kTellSpread ? most : most - least;
    return most + std::min(spread + most / kLeastMore, most / kMostMore);
  };
  return {of(&BatchBytes::sample), of(&BatchBytes::rows)};
}

void divide_room(std::uint64_t room, std::span<const std::uint64_t> sizes,
                 const std::function<std::uint64_t(std::size_t, std::uint64_t)>& take) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] < sizes[b]; });
  std::uint64_t left = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  for (const std::size_t i : order) {
    const bool whole = sizes[i] <= room / 4 || room >= left;
    const std::uint64_t taken = take(i, whole ? sizes[i] : scaled(room, sizes[i], left));
    room -= std::min(room, taken);
    left -= sizes[i];
  }
}

ReadAhead plan_read_ahead(const AheadNeeds& needs) {
  std::uint64_t of_requests = 0;
  ReadAhead plan;
  plan.sample_bytes = needs.sample_bytes / 2;  // packed
  for (const MissedRows& rows : needs.missed) {
    if (rows.row_bytes == 0) continue;
    plan.sample_bytes += kPlaceOfMiss * rows.rows;
    of_requests += RowRequest::bytes(rows.rows, rows.sections) + kBesideMiss * rows.rows;
  }
  plan.chunk_bytes = chunk_bytes(needs.missed);
  const std::uint64_t row_bytes = bytes_in_chunks(needs.missed, plan.chunk_bytes);  // of a batch
  plan.draws_again = needs.draws_again;
  plan.num_near = needs.num_outputs + 2;
  // Batches are somewhere between asked for and there: on average, half of what they miss has
  // arrived. Of one that is early all has. Rows of the first one go where it is assembled, but
  // batches differ, and they do not come at quite equal distances: half of a batch's rows are
  // spare.
  const std::uint64_t of_batch =
      of_requests + row_bytes / 2 + (needs.draws_again ? 0 : plan.sample_bytes);
  const std::uint64_t fixed =
      row_bytes + (needs.draws_again ? plan.num_near * plan.sample_bytes : 0);
  const std::uint64_t room = needs.window - needs.window / kSpare;
  std::uint64_t batches = room > fixed && of_batch > 0 ? (room - fixed) / of_batch : 1;
  batches -= 2 * (batches / kEarlyShare);
  plan.most_batches =
      static_cast<std::size_t>(std::clamp<std::uint64_t>(batches, 1, needs.most_batches));
  plan.num_early = 1 + plan.most_batches / kEarlyShare;
  if (row_bytes > 0) {
    const std::uint64_t samples = needs.draws_again ? plan.num_near : plan.most_batches;
    const std::uint64_t beside = plan.most_batches * of_requests + samples * plan.sample_bytes;
    const std::uint64_t left = needs.window > beside ? needs.window - beside : 0;
    // No more than all of them would take.
    const std::uint64_t most = 2 * (plan.most_batches + plan.num_early) * row_bytes;
    const std::uint64_t bytes = std::min(left, most);
    plan.chunks = static_cast<std::size_t>(bytes / plan.chunk_bytes);
    std::uint64_t rows = 0;
    for (const MissedRows& missed : needs.missed) rows += missed.rows;
    plan.worth_taking = std::max<std::uint64_t>(scaled(bytes, rows, row_bytes) / 8, 1);
  }
  plan.sample_bytes += of_requests;
  plan.request_bytes = of_requests;
  return plan;
}

}  // namespace gz
