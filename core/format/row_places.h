// An order of rows, as the place of each: what the row map of a .gd stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "core/base/types.h"

namespace gz {

// A permutation of 0 … size()-1, proven when it is made.
class RowPlaces {
 public:
  // Rows by falling `neighbor_counts`, those with equally many by rising id. Linear in time.
  static RowPlaces hottest_first(std::span<const std::uint32_t> neighbor_counts);
  // Row order[i] has place i. A `width` of 8 bytes is always right, 4 are only where
  // id_width_for() says so. Throws std::invalid_argument if that is no permutation of `num_rows`
  // ids, and where it is not.
  static RowPlaces in_order(std::span<const std::int64_t> order, std::uint64_t num_rows,
                            IdWidth width);

  std::size_t size() const;
  // The ids by their place: what in_order() takes.
  std::vector<std::int64_t> order() const;

  // Calls body(std::span<const Id>) with the place of each id, in the type a file has for them.
  template <class Body>
  decltype(auto) visit(Body&& body) const {
    return std::visit(
        [&]<class Id>(const std::vector<Id>& places) { return body(std::span<const Id>(places)); },
        places_);
  }

 private:
  template <class Id>
  explicit RowPlaces(std::vector<Id>&& places) : places_(std::move(places)) {}

  std::variant<std::vector<std::int32_t>, std::vector<std::int64_t>> places_;
};

}  // namespace gz
