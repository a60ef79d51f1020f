// The newest candidates.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/random.h"
#include "core/sample/candidates.h"
#include "core/sample/smallest.h"
#include "core/sample/uniform_pick.h"
#include "core/store/index_reader.h"

namespace gz {

// Draws nothing. By the time of edges, a list ends with the newest. By the time of nodes,
// candidates are compared; of those equally new the later in the list is taken.
template <class Id>
class LastPick {
 public:
  static constexpr bool kReadsLists = false;

  LastPick(IndexReader<Id> reader, std::span<const std::int64_t> node_times)
      : reader_(reader), node_times_(node_times) {}

  template <class Picked>
  void pick(const Candidates& candidates, EdgeId fanout, Key, Picked& out) {
    const EdgeId count = candidates.count();
    if (fanout == kAllNeighbors || count <= fanout) return pick_all(candidates, out);
    if (!candidates.has_chosen) {
      out.reserve(fanout);
      for (EdgeId i = 0; i < fanout; ++i) out.add(candidates.at(count - fanout + i));
      return;
    }
    newest_.reset(static_cast<std::size_t>(fanout));
    for (EdgeId i = 0; i < count; ++i) {
      const EdgeId position = candidates.at(i);
      const auto neighbor = static_cast<std::size_t>(reader_.neighbor(position));
      newest_.offer({node_times_[neighbor], position}, position);
    }
    newest_.take(out);
  }

 private:
  // Newer comes first; the sign of a time is not turned, for the smallest has no opposite.
  struct Newest {
    std::int64_t time;
    EdgeId position;
    bool operator==(const Newest&) const = default;
    bool operator<(const Newest& other) const {
      return time != other.time ? time > other.time : position > other.position;
    }
  };

  IndexReader<Id> reader_;
  std::span<const std::int64_t> node_times_;
  Smallest<Newest> newest_;
};

}  // namespace gz
