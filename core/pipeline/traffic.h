// How many rows batches miss, and what reading them costs: a model by which memory is divided.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/gather/read_cost.h"

namespace gz {

// Rows that batches need about equally often.
struct HeatBand {
  double rows = 0;
  double visits = 0;  // of these rows, by one batch
};

// Bands of a file stored hottest first, from where it was visited: `visits` are the rows of
// `num_batches` batches, between `begin` and `end`.
std::vector<HeatBand> bands_in_file(std::span<const std::int64_t> visits, std::size_t num_batches,
                                    std::uint64_t begin, std::uint64_t end);

// Bands of rows whose visits by a batch are expected to be `scores`.
std::vector<HeatBand> bands_of_scores(std::span<const float> scores);

// The rows of one attribute. Visits of different batches are taken for independent.
class RowTraffic {
 public:
  RowTraffic() = default;  // of no rows
  // `bands` are from the hottest on; `is_sorted`: the file has them in this order.
  RowTraffic(std::vector<HeatBand> bands, bool is_sorted, std::uint64_t row_bytes,
             const ReadCost& cost);

  // Of a batch, if the hottest rows are cached.
  double misses(double cached_rows) const;

  // What a sweep over the file costs that reads what so many batches miss.
  struct Cost {
    double seconds = 0;  // of the device
    double bytes = 0;

    Cost& operator+=(const Cost& more) {
      seconds += more.seconds;
      bytes += more.bytes;
      return *this;
    }
  };
  Cost sweep(double cached_rows, double batches) const;

 private:
  Cost sweep_band(const HeatBand& band, double batches) const;
  // Calls body(band) with what is not cached of each.
  template <class Body>
  void for_each_uncached(double cached_rows, Body&& body) const;

  std::vector<HeatBand> bands_;
  bool is_sorted_ = false;
  std::uint64_t row_bytes_ = 1;
  ReadCost cost_;
};

}  // namespace gz
