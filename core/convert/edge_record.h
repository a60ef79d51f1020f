// What travels from a parsed edge to its place in an index: as few bytes as the job allows.
#pragma once

#include <cstdint>
#include <type_traits>

namespace gz {

template <int kTag>
struct Absent {};

// The entry `neighbor` of node `key`. `Id` is uint32 while every id of the record fits, else
// uint64.
template <class IdT, bool kEdgeV, bool kWeightV, bool kTimeV>
struct EdgeRecord {
  using Id = IdT;
  static constexpr bool kHasEdge = kEdgeV;
  static constexpr bool kHasWeight = kWeightV;
  static constexpr bool kHasTime = kTimeV;
  using Wide = EdgeRecord<std::uint64_t, kEdgeV, kWeightV, kTimeV>;

  [[no_unique_address]] std::conditional_t<kTimeV, std::int64_t, Absent<0>> time;
  Id key;
  Id neighbor;
  [[no_unique_address]] std::conditional_t<kEdgeV, Id, Absent<1>> edge;
  [[no_unique_address]] std::conditional_t<kWeightV, float, Absent<2>> weight;

  Wide widened() const {
    Wide wide{};
    wide.key = key;
    wide.neighbor = neighbor;
    if constexpr (kEdgeV) wide.edge = edge;
    if constexpr (kWeightV) wide.weight = weight;
    if constexpr (kTimeV) wide.time = time;
    return wide;
  }
};

static_assert(sizeof(EdgeRecord<std::uint32_t, false, false, false>) == 8);
static_assert(sizeof(EdgeRecord<std::uint32_t, true, false, false>) == 12);
static_assert(sizeof(EdgeRecord<std::uint32_t, true, true, false>) == 16);

// Calls body.template operator()<Record>() with the narrow record of a conversion. Weights and
// times are told apart by edge ids where they belong to equal edges, so their records always have
// one.
template <class Body>
auto with_record(bool edge_ids, bool weights, bool times, Body&& body) {
  using Narrow = std::uint32_t;
  if (times && weights) return body.template operator()<EdgeRecord<Narrow, true, true, true>>();
  if (times) return body.template operator()<EdgeRecord<Narrow, true, false, true>>();
  if (weights) return body.template operator()<EdgeRecord<Narrow, true, true, false>>();
  if (edge_ids) return body.template operator()<EdgeRecord<Narrow, true, false, false>>();
  return body.template operator()<EdgeRecord<Narrow, false, false, false>>();
}

// Lists are ordered by (time, neighbour, edge id), without times by (neighbour, edge id).
template <class Record>
bool comes_before(const Record& a, const Record& b) {
  if (a.key != b.key) return a.key < b.key;
  if constexpr (Record::kHasTime) {
    if (a.time != b.time) return a.time < b.time;
  }
  if (a.neighbor != b.neighbor) return a.neighbor < b.neighbor;
  if constexpr (Record::kHasEdge) return a.edge < b.edge;
  return false;
}

}  // namespace gz
