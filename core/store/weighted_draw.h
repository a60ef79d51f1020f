// Draws entries of a list in proportion to their weights, in O(log degree) and exactly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/base/prefetch.h"
#include "core/base/random.h"
#include "core/base/short_loop.h"
#include "core/base/types.h"
#include "core/store/topology.h"

namespace gz {

// Sums are float64, of float32 weights added in list order: an entry of a hub with 2^24 neighbours
// is drawn with its probability to within 2^-53 of 1. Entries of weight 0 are never drawn.
class WeightedDraw {
 public:
  // Throws std::invalid_argument if the graph has no weights.
  WeightedDraw(const Topology& graph, Direction direction)
      : graph_(&graph),
        weights_(graph.index(direction).weights.data()),
        sums_(graph.weight_sums(direction).data()) {}

  float weight(EdgeId position) const { return weights_[position]; }
  const float* weight_address(EdgeId position) const { return weights_ + position; }

  // The sum of the weights in `list` before `position`, which is in the list or at its end.
  double sum_before(EdgeRange list, EdgeId position) const {
    EdgeId at = position / kWeightStride * kWeightStride;
    double sum = 0;
    if (at > list.begin && at < list.end) {
      sum = sums_[at / kWeightStride];
    } else if (at > list.begin) {  // the list ends on a stride: that sum belongs to the next list
      at -= kWeightStride;
      sum = at > list.begin ? sums_[at / kWeightStride] : 0;
    }
    GZ_SHORT_LOOP
    for (at = std::max(at, list.begin); at < position; ++at) sum += weights_[at];
    return sum;
  }

  double total(EdgeRange list) const {
    double sum = *last_sum(list);
    GZ_SHORT_LOOP
    for (EdgeId at = last_block(list); at < list.end; ++at) sum += weights_[at];
    return sum;
  }
  // Where total() reads: the last stored sum of the list, or a zero if it has none, and the weights
  // from last_block() on.
  const double* last_sum(EdgeRange list) const {
    const EdgeId last = (list.end - 1) / kWeightStride;
    return last * kWeightStride > list.begin ? sums_ + last : &kNoSum;
  }
  EdgeId last_block(EdgeRange list) const {
    return std::max(list.begin, (list.end - 1) / kWeightStride * kWeightStride);
  }

  // The entry at which the running sum of the list passes `target`, 0 <= target < total(list).
  // Throws FormatError if there is none, as in a corrupt file.
  EdgeId find(EdgeRange list, double target, double total) const {
    Search search = begin_search(list, target / total);
    search.target = target;
    while (search.count > 0) narrow(search);
    return finish_search(list, search);
  }

  // The same for up to 32 targets of one list at once: they wait for memory together. A target that
  // is not below the sum of the list gets its last entry.
  void find(EdgeRange list, std::span<const double> targets, double total, EdgeId* found) const {
    Search searches[kMostTargets];
    for (std::size_t i = 0; i < targets.size(); ++i) {
      searches[i] = begin_search(list, targets[i] / total);
      searches[i].target = targets[i];
      prefetch(next_read(list, searches[i]));
    }
    for (bool more = true; more;) {
      more = false;
      for (std::size_t i = 0; i < targets.size(); ++i) {
        if (searches[i].count == 0) continue;
        narrow(searches[i]);
        prefetch(next_read(list, searches[i]));
        more = true;
      }
    }
    for (std::size_t i = 0; i < targets.size(); ++i)
      found[i] = targets[i] < total ? finish_search(list, searches[i]) : list.end - 1;
  }
  static constexpr std::size_t kMostTargets = 32;

  // find() in steps, so that many searches can run side by side and wait for memory together:
  // begin, set the target, narrow while count > 0, finish; next_read() is what each of them reads.
  // The first look is where the sum would be if all weights were equal. It takes in a cache line of
  // sums, the next one is at the line beside it, then eight lines away, and so on: a list of 10^5
  // ordinary weights takes a line or two, any list O(log degree).
  struct Search {
    double target;
    EdgeId low;     // sums before this one are not above the target
    EdgeId count;   // sums still to be compared
    EdgeId at;      // the next look is at this one and those in its line
    EdgeId stride;  // how far from there to look then; halving takes over when that is too far
  };
  // `share` is what part of the list's sum the target will be. It only directs the search, so this
  // can be done, and its first sums be on their way, before the sum of the list is known.
  Search begin_search(EdgeRange list, double share) const {
    const EdgeId first = list.begin / kWeightStride + 1;
    const EdgeId last = (list.end - 1) / kWeightStride;
    const EdgeId count = std::max<EdgeId>(last - first + 1, 0);
    // Sums of a corrupt file may make it infinite or no number, which no integer holds.
    const double guess = share * static_cast<double>(count);
    const double nearest = guess > 0 ? std::min(guess, static_cast<double>(count - 1)) : 0;
    return {0, first, count, first + static_cast<EdgeId>(nearest), 1};
  }
  void narrow(Search& search) const {
    EdgeId end = search.low + search.count;
    const EdgeId line = search.at / kLine * kLine;
    const EdgeId line_begin = std::max(line, search.low);
    const EdgeId line_end = std::min(line + kLine, end);
    EdgeId below = 0;  // counted, not searched for: a branch would be mispredicted
    GZ_SHORT_LOOP
    for (EdgeId at = line_begin; at < line_end; ++at) below += !(sums_[at] > search.target);
    const EdgeId found = line_begin + below;
    if (found > line_begin) search.low = found;
    if (found < line_end) end = found;
    search.count = end - search.low;
    const bool halve = search.stride >= search.count;
    const EdgeId strode =
        found == line_begin ? end - search.stride : search.low + search.stride - 1;
    search.at = halve ? search.low + search.count / 2 : strode;
    search.stride = halve ? search.stride : search.stride * kLine;
  }
  // Where the search goes on: a sum, or the weights behind the last one.
  const void* next_read(EdgeRange list, const Search& search) const {
    if (search.count > 0) return sums_ + search.at;
    return weights_ + first(list, search);
  }
  EdgeId first(EdgeRange list, const Search& search) const {
    return std::max(list.begin, (search.low - 1) * kWeightStride);
  }
  EdgeId finish_search(EdgeRange list, const Search& search) const {
    EdgeId at = first(list, search);
    double sum = at > list.begin ? sums_[search.low - 1] : 0;
    GZ_SHORT_LOOP
    for (; at < list.end; ++at) {
      sum += weights_[at];
      if (sum > search.target) return at;
    }
    refuse(list);
  }

 private:
  static constexpr EdgeId kLine = 8;  // sums in a cache line
  static constexpr double kNoSum = 0;

  [[noreturn]] void refuse(EdgeRange list) const;

  const Topology* graph_;
  const float* weights_;
  const double* sums_;
};

}  // namespace gz
