#include "core/format/row_places.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/base/dispatch.h"
#include "core/base/error.h"
#include "core/base/machine.h"

namespace gz {
namespace {

// Rows that appear this often are so few that they are sorted by comparing: a graph of 10^12 edges
// has at most a million. The others are counted, in 8 MB.
constexpr std::uint32_t kHub = 1 << 20;

template <class Id>
std::vector<Id> empty_places(std::uint64_t count) {
  require_memory(count * sizeof(Id), concat("ordering ", count, " rows"));
  return std::vector<Id>(count, Id{-1});
}

template <class Id>
std::vector<Id> places_by_counts(std::span<const std::uint32_t> neighbor_counts) {
  std::vector<std::size_t> starts(kHub);  // first how many rows appear i times
  std::vector<std::size_t> hubs;
  for (std::size_t id = 0; id < neighbor_counts.size(); ++id) {
    if (neighbor_counts[id] < kHub) {
      ++starts[neighbor_counts[id]];
    } else {
      hubs.push_back(id);
    }
  }
  std::stable_sort(hubs.begin(), hubs.end(), [&](std::size_t a, std::size_t b) {
    return neighbor_counts[a] > neighbor_counts[b];
  });
  std::vector<Id> places = empty_places<Id>(neighbor_counts.size());
  for (std::size_t i = 0; i < hubs.size(); ++i) places[hubs[i]] = static_cast<Id>(i);
  std::size_t next = hubs.size();
  for (std::size_t i = kHub; i-- > 0;) next += std::exchange(starts[i], next);
  for (std::size_t id = 0; id < neighbor_counts.size(); ++id) {
    if (neighbor_counts[id] < kHub) places[id] = static_cast<Id>(starts[neighbor_counts[id]]++);
  }
  return places;
}

template <class Id>
std::vector<Id> places_in_order(std::span<const std::int64_t> order) {
  std::vector<Id> places = empty_places<Id>(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto id = static_cast<std::uint64_t>(order[i]);
    if (id >= order.size()) {
      throw std::invalid_argument(concat("order[", i, "]: expected an id from 0 to ",
                                         order.size() - 1, ", found ", order[i]));
    }
    if (places[id] >= 0) {
      throw std::invalid_argument(concat("order[", i, "]: expected each id once, found ", id,
                                         " again, first at order[", places[id], "]"));
    }
    places[id] = static_cast<Id>(i);
  }
  return places;
}

}  // namespace

RowPlaces RowPlaces::hottest_first(std::span<const std::uint32_t> neighbor_counts) {
  return with_id_type(id_width_for(neighbor_counts.size()),
                      [&]<class Id>() { return RowPlaces(places_by_counts<Id>(neighbor_counts)); });
}

RowPlaces RowPlaces::in_order(std::span<const std::int64_t> order, std::uint64_t num_rows,
                              IdWidth width) {
  if (order.size() != num_rows) {
    throw std::invalid_argument(
        concat("order: expected ", num_rows, " ids, one per row, found ", order.size()));
  }
  return with_id_type(width, [&]<class Id>() { return RowPlaces(places_in_order<Id>(order)); });
}

std::size_t RowPlaces::size() const {
  return visit([](const auto& places) { return places.size(); });
}

std::vector<std::int64_t> RowPlaces::order() const {
  require_memory(size() * sizeof(std::int64_t), concat("ordering ", size(), " rows"));
  std::vector<std::int64_t> order(size());
  visit([&](const auto& places) {
    for (std::size_t id = 0; id < places.size(); ++id)
      order[static_cast<std::size_t>(places[id])] = static_cast<std::int64_t>(id);
  });
  return order;
}

}  // namespace gz
