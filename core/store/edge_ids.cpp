#include "core/store/edge_ids.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "core/base/dispatch.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/store/index_reader.h"
#include "core/store/page_requests.h"

namespace gz {
namespace {

// Positions a thread takes at a time.
constexpr std::size_t kGrain = 4096;
// Reads that are on their way at once.
constexpr std::size_t kAhead = 32;

}  // namespace

Buffer<EdgeId> edge_ids_at(const Topology& graph, Direction direction,
                           std::span<const EdgeId> positions) {
  Buffer<EdgeId> ids;
  EdgeId* const out = ids.extend(positions.size());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] >= 0 && positions[i] < graph.num_edges()) continue;
    throw std::out_of_range(concat("positions[", i, "]: ", positions[i], " is not in the index of ",
                                   graph.path(), ", which has ", graph.num_edges(), " entries"));
  }
  with_id_type(graph.layout().id_width, [&]<class Id>() {
    const IndexReader<Id> reader(graph, direction);
    if (!reader.has_edge_ids()) {
      std::copy(positions.begin(), positions.end(), out);
      return;
    }
    const auto request = [&](std::size_t begin, std::size_t end) {
      std::vector<const void*> addresses;
      for (std::size_t i = begin; i < end; ++i)
        addresses.push_back(reader.edge_id_address(positions[i]));
      request_scattered(addresses);
    };
    const auto read = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (i + kAhead < end) reader.prefetch_edge_id(positions[i + kAhead]);
        out[i] = reader.edge_id(positions[i]);
      }
    };
    guarded(*graph.mapping(), [&] {
      parallel_chunks(positions.size(), kGrain, [&](std::size_t begin, std::size_t end) {
        graph.cold_detector().stretch(begin, end, request, read);
      });
    });
  });
  return ids;
}

}  // namespace gz
