// Negatives for a batch of links: pairs or destinations, none of them newer than its link.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "core/base/types.h"
#include "core/sample/negative.h"

namespace gz {

enum class Negatives : std::uint8_t {
  kNone,
  kBinary,   // pairs of nodes, drawn at both ends
  kTriplet,  // destinations for each source
};

struct LinkNegativeOptions {
  Negatives kind = Negatives::kNone;
  double amount = 1;         // for each link; whole for triplets
  NegativeOptions negative;  // the seed in it is not used
};

// Safe on many threads. What is given outlives it.
class LinkNegatives {
 public:
  // Times of all nodes that sources or destinations are; empty: they have none. Throws
  // std::invalid_argument.
  LinkNegatives(NegativeEnds ends, LinkNegativeOptions options,
                std::span<const std::int64_t> src_times, std::span<const std::int64_t> dst_times);

  // For links from `src` at `times`, which are empty if links have none. Triplets have no sources
  // of their own.
  //
  // Nodes that are newer than their link are drawn again; the others keep their proportions. After
  // kRounds draws one that is still newer becomes the oldest node of its end, even if that one is
  // newer too. What has been drawn so often may be an edge though edges are excluded. Throws what
  // the negative samplers throw.
  NodePairs draw(std::span<const NodeId> src, std::span<const std::int64_t> times, Key key) const;
  static constexpr std::uint64_t kRounds = 64;

  // The link that negative j belongs to. Pairs go through all links again and again; triplets have
  // those of one link side by side.
  std::size_t link_of(std::size_t j, std::size_t num_links) const {
    return options_.kind == Negatives::kTriplet ? j / static_cast<std::size_t>(options_.amount)
                                                : j % num_links;
  }

 private:
  // The nodes of one end.
  class End {
   public:
    End(std::span<const std::int64_t> times, const EndLaw& law) : times_(times), law_(&law) {}

    bool is_timed() const { return !times_.empty(); }
    bool is_newer(NodeId node, std::int64_t time) const {
      return is_timed() && times_[static_cast<std::size_t>(node)] > time;
    }
    // Of those with a weight above 0, if there are weights. Found at the first call.
    NodeId oldest() const;

   private:
    static constexpr NodeId kUnknown = -1;

    std::span<const std::int64_t> times_;
    const EndLaw* law_;
    mutable std::atomic<NodeId> oldest_ = kUnknown;  // threads that race find the same node
  };

  NegativeOptions with_seed(Key key) const;
  NodePairs draw_pairs(std::span<const std::int64_t> times, std::uint64_t count, Key key) const;
  std::vector<NodeId> draw_destinations(std::span<const NodeId> src,
                                        std::span<const std::int64_t> times, Key key) const;
  void renew_pairs(NodePairs& pairs, std::span<const std::int64_t> times, Key key) const;

  NegativeEnds ends_;
  LinkNegativeOptions options_;
  End src_;
  End dst_;
};

}  // namespace gz
