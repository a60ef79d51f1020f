#include "core/pipeline/link_negatives.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "core/base/error.h"
#include "core/store/adjacency.h"

namespace gz {
namespace {

constexpr double kMostNegatives = 1e6;  // for each link

}  // namespace

NodeId LinkNegatives::End::oldest() const {
  NodeId found = oldest_.load(std::memory_order_relaxed);
  if (found != kUnknown) return found;
  for (std::size_t i = 0; i < times_.size(); ++i) {
    const auto node = static_cast<NodeId>(i);
    if (law_->by == NegativeLaw::kWeights && (*law_->weights)[node] == 0) continue;
    if (found == kUnknown || times_[i] < times_[static_cast<std::size_t>(found)]) found = node;
  }
  oldest_.store(found, std::memory_order_relaxed);
  return found;
}

LinkNegatives::LinkNegatives(NegativeEnds ends, LinkNegativeOptions options,
                             std::span<const std::int64_t> src_times,
                             std::span<const std::int64_t> dst_times)
    : ends_(ends),
      options_(std::move(options)),
      src_(src_times, options_.negative.src),
      dst_(dst_times, options_.negative.dst) {
  if (options_.kind == Negatives::kNone) return;
  const double amount = options_.amount;
  if (!(amount > 0 && amount <= kMostNegatives) ||
      (options_.kind == Negatives::kTriplet && amount != std::floor(amount))) {
    throw std::invalid_argument(concat("num_negatives: expected a number above 0 and up to ",
                                       kMostNegatives, ", a whole one for triplets, found ",
                                       amount));
  }
  if (options_.kind == Negatives::kBinary)
    check_weights(ends_, options_.negative.src, Direction::kOut);
  check_weights(ends_, options_.negative.dst, Direction::kIn);
}

NodePairs LinkNegatives::draw(std::span<const NodeId> src, std::span<const std::int64_t> times,
                              Key key) const {
  if (options_.kind == Negatives::kTriplet) return {{}, draw_destinations(src, times, key)};
  if (options_.kind == Negatives::kNone) return {};
  const auto count =
      static_cast<std::uint64_t>(std::ceil(static_cast<double>(src.size()) * options_.amount));
  return draw_pairs(times, count, key);
}

NegativeOptions LinkNegatives::with_seed(Key key) const {
  NegativeOptions negative = options_.negative;
  negative.seed = key.state();
  return negative;
}

std::vector<NodeId> LinkNegatives::draw_destinations(std::span<const NodeId> src,
                                                     std::span<const std::int64_t> times,
                                                     Key key) const {
  const auto amount = static_cast<std::uint64_t>(options_.amount);
  std::vector<NodeId> dst = sample_negatives(ends_, src, amount, with_seed(key));
  if (times.empty() || !dst_.is_timed()) return dst;
  const auto link = [&](std::size_t at) { return link_of(at, src.size()); };
  std::vector<std::size_t> newer;
  for (std::size_t at = 0; at < dst.size(); ++at) {
    if (dst_.is_newer(dst[at], times[link(at)])) newer.push_back(at);
  }
  for (std::uint64_t round = 1; round < kRounds && !newer.empty(); ++round) {
    std::vector<NodeId> sources;
    for (const std::size_t at : newer) sources.push_back(src[link(at)]);
    const auto drawn = sample_negatives(ends_, sources, 1, with_seed(key.with(round)));
    std::size_t kept = 0;
    for (std::size_t i = 0; i < newer.size(); ++i) {
      const std::size_t at = newer[i];
      dst[at] = drawn[i];
      if (dst_.is_newer(dst[at], times[link(at)])) newer[kept++] = at;
    }
    newer.resize(kept);
  }
  for (const std::size_t at : newer) dst[at] = dst_.oldest();
  return dst;
}

NodePairs LinkNegatives::draw_pairs(std::span<const std::int64_t> times, std::uint64_t count,
                                    Key key) const {
  NodePairs pairs = sample_negative_pairs(ends_, count, with_seed(key));
  if (!times.empty() && (src_.is_timed() || dst_.is_timed())) renew_pairs(pairs, times, key);
  return pairs;
}

// A pair that is too new is drawn anew, each end for itself until it is old enough: both at once
// would succeed far less often. The pair is then tested for an edge and, if it is one, begun again,
// so that pairs keep their proportions.
void LinkNegatives::renew_pairs(NodePairs& pairs, std::span<const std::int64_t> times,
                                Key key) const {
  const auto src_is_newer = [&](std::size_t at) {
    return src_.is_newer(pairs.src[at], times[link_of(at, times.size())]);
  };
  const auto dst_is_newer = [&](std::size_t at) {
    return dst_.is_newer(pairs.dst[at], times[link_of(at, times.size())]);
  };
  struct Pending {
    std::size_t at;
    bool both;  // ends are to be drawn; else those that are newer
  };
  std::vector<Pending> pending;
  for (std::size_t at = 0; at < pairs.src.size(); ++at) {
    if (src_is_newer(at) || dst_is_newer(at)) pending.push_back({at, true});
  }
  for (std::uint64_t round = 1; round < kRounds && !pending.empty(); ++round) {
    NegativeOptions negative = with_seed(key.with(round));
    negative.exclude_edges = false;
    const NodePairs drawn = sample_negative_pairs(ends_, pending.size(), negative);
    std::vector<Pending> next;
    std::vector<std::size_t> old;
    for (std::size_t i = 0; i < pending.size(); ++i) {
      const auto [at, both] = pending[i];
      if (both || src_is_newer(at)) pairs.src[at] = drawn.src[i];
      if (both || dst_is_newer(at)) pairs.dst[at] = drawn.dst[i];
      if (src_is_newer(at) || dst_is_newer(at))
        next.push_back({at, false});
      else if (options_.negative.exclude_edges)
        old.push_back(at);
    }
    NodePairs tested;
    for (const std::size_t at : old) {
      tested.src.push_back(pairs.src[at]);
      tested.dst.push_back(pairs.dst[at]);
    }
    if (!old.empty()) {
      const auto is_edge = has_edges(*ends_.graph, tested.src, tested.dst);
      for (std::size_t i = 0; i < old.size(); ++i) {
        if (is_edge[i] != 0) next.push_back({old[i], true});
      }
    }
    pending = std::move(next);
  }
  for (const auto [at, both] : pending) {
    if (src_is_newer(at)) pairs.src[at] = src_.oldest();
    if (dst_is_newer(at)) pairs.dst[at] = dst_.oldest();
  }
}

}  // namespace gz
