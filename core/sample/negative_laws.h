// How likely a node is to be drawn as a negative: all alike, by degree, or by weights.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>

#include "core/base/error.h"
#include "core/base/logarithm.h"
#include "core/base/parallel.h"
#include "core/base/random.h"
#include "core/base/types.h"
#include "core/sample/node_weights.h"
#include "core/store/index_reader.h"
#include "core/store/topology.h"

namespace gz {

// One pair in the making, and the stream that everything about it is drawn from.
struct Draw {
  Rng rng;
  std::size_t slot;  // where its result goes
  NodeId src = 0;
  NodeId dst = 0;
};

// This many draws are made side by side, so that they wait for memory together.
inline constexpr std::size_t kDrawGroup = 32;

// How often to try before all choices are gone through: a try costs about as much as sixteen steps
// of that scan. The upper bound is for choices that are too many to go through lightly.
constexpr std::uint64_t max_tries(std::uint64_t choices) {
  return std::clamp<std::uint64_t>(choices / 16, 64, std::uint64_t{1} << 20);
}

// Chooses with probabilities in proportion to weights, in one pass and without memory: each choice
// arrives after an exponential time divided by its weight, and the first to arrive is taken
// (Efraimidis, Spirakis: Weighted Random Sampling with a Reservoir, IPL 2006).
class Race {
 public:
  explicit Race(Rng& rng) : rng_(rng) {}
  // Whether this choice comes before all that were entered so far: the last one to do so is it.
  bool enter(double log_weight) {
    const double score = log_weight - natural_log(rng_.exponential());
    if (score <= best_) return false;
    best_ = score;
    return true;
  }

 private:
  Rng& rng_;
  double best_ = -std::numeric_limits<double>::infinity();
};

// Draws among the nodes of a law that are not in `refused` by going through all of them. Empty if
// none is left.
template <class Law>
std::optional<NodeId> race_outside(const Law& law, std::span<const NodeId> refused, Rng& rng) {
  Race race(rng);
  std::optional<NodeId> first;
  law.for_each_outside(refused, [&](NodeId node, double log_weight) {
    if (race.enter(log_weight)) first = node;
  });
  return first;
}

// A long scan asks whether it is to stop each time it has passed this many nodes.
inline constexpr std::int64_t kStepsPerCheck = 1 << 20;

// Calls body(node) for every node that is not in `refused`, which is sorted and has no repeats.
template <class Body>
void for_each_node_outside(NodeId num_nodes, std::span<const NodeId> refused, const Body& body) {
  for (NodeId node = 0; node < num_nodes; ++node) {
    if (node % kStepsPerCheck == 0) check_interrupt();
    if (!refused.empty() && refused.front() == node)
      refused = refused.subspan(1);
    else
      body(node);
  }
}

// Every node of one side with the same probability.
class UniformLaw {
 public:
  // What messages call the nodes it draws.
  static constexpr const char* kSource = "source";
  static constexpr const char* kDestination = "destination";

  explicit UniformLaw(NodeId num_nodes) : num_nodes_(num_nodes) {}

  NodeId num_nodes() const { return num_nodes_; }

  // Draws the `end` (src or dst) of each draw from its own stream.
  void draw(std::span<Draw> draws, NodeId Draw::* end) const {
    for (Draw& one : draws) one.*end = from_rank(one.rng.below(count()));
  }

  // Draws among the nodes that are not in `refused`, which is sorted and has no repeats. Empty if
  // no node is left.
  std::optional<NodeId> draw_outside(std::span<const NodeId> refused, Rng& rng) const {
    if (refused.size() == count()) return std::nullopt;
    const NodeId rank = from_rank(rng.below(count() - refused.size()));
    // Before refused[i] lie refused[i] - i nodes that are not refused.
    std::size_t low = 0;
    for (std::size_t left = refused.size(); left > 0;) {
      const std::size_t half = left / 2;
      const bool before = refused[low + half] - static_cast<NodeId>(low + half) <= rank;
      low = before ? low + half + 1 : low;
      left = before ? left - half - 1 : half;
    }
    return rank + static_cast<NodeId>(low);
  }

  // Calls body(node, logarithm of its weight) for every node that is not in `refused`.
  template <class Body>
  void for_each_outside(std::span<const NodeId> refused, Body&& body) const {
    for_each_node_outside(num_nodes_, refused, [&](NodeId node) { body(node, 0.0); });
  }

 private:
  std::uint64_t count() const { return static_cast<std::uint64_t>(num_nodes_); }
  static NodeId from_rank(std::uint64_t rank) { return static_cast<NodeId>(rank); }

  NodeId num_nodes_;
};

// A node with the probability degree^power, 0 < power <= 1, exactly and without a table: the end of
// an edge drawn uniformly has a probability in proportion to its degree, and is kept with
// probability degree^(power - 1). Interface as UniformLaw.
template <class Id>
class DegreeLaw {
 public:
  static constexpr const char* kSource = "source that has out-edges";
  static constexpr const char* kDestination = "destination that has in-edges";

  // Throws std::invalid_argument if the degrees are needed and not stored.
  DegreeLaw(const Topology& graph, Direction side, double power)
      : graph_(&graph),
        num_nodes_(graph.num_nodes(side)),
        num_edges_(static_cast<std::uint64_t>(graph.num_edges())),
        power_(power) {
    if (graph.has(side)) lists_.emplace(graph, side);
    if (power < 1 && !lists_) {
      throw std::invalid_argument(concat(
          graph.path(), ": by=\"degree\" needs the '", direction_name(side),
          "' index, which is not stored; write the graph with index=\"both\", or use power=1"));
    }
    const Direction other = side == Direction::kOut ? Direction::kIn : Direction::kOut;
    if (graph.has(other)) names_.emplace(graph, other);
  }

  NodeId num_nodes() const { return num_nodes_; }

  void draw(std::span<Draw> draws, NodeId Draw::* end) const {
    std::array<Draw*, kDrawGroup> pending;
    std::size_t count = 0;
    for (Draw& one : draws) pending[count++] = &one;
    const std::uint64_t limit = max_tries(static_cast<std::uint64_t>(num_nodes_));
    for (std::uint64_t tries = 0; count > 0; ++tries) {
      if (tries % 1024 == 1023) check_interrupt();
      if (tries == limit) {
        for (std::size_t i = 0; i < count; ++i)
          pending[i]->*end = *draw_outside({}, pending[i]->rng);
        return;
      }
      propose({pending.data(), count}, end);
      std::size_t kept = 0;
      for (std::size_t i = 0; i < count; ++i) {
        if (!accept(pending[i]->*end, pending[i]->rng)) pending[kept++] = pending[i];
      }
      count = kept;
    }
  }

  std::optional<NodeId> draw_outside(std::span<const NodeId> refused, Rng& rng) const {
    return race_outside(*this, refused, rng);
  }

  // Without the lists of this side a node comes once per edge, and with weight 1 each time.
  template <class Body>
  void for_each_outside(std::span<const NodeId> refused, Body&& body) const {
    if (!lists_) {
      for (EdgeId at = 0; at < graph_->num_edges(); ++at) {
        if (at % kStepsPerCheck == 0) check_interrupt();
        const NodeId node = names_->neighbor(at);
        if (!std::binary_search(refused.begin(), refused.end(), node)) body(node, 0.0);
      }
      return;
    }
    for_each_node_outside(num_nodes_, refused, [&](NodeId node) {
      const EdgeId degree = lists_->edges_of(node).size();
      if (degree > 0) body(node, power_ * natural_log(static_cast<double>(degree)));
    });
  }

 private:
  // The end of one edge for each draw.
  void propose(std::span<Draw* const> draws, NodeId Draw::* end) const {
    std::array<EdgeId, kDrawGroup> entries;
    for (std::size_t i = 0; i < draws.size(); ++i) {
      entries[i] = static_cast<EdgeId>(draws[i]->rng.below(num_edges_));
      if (names_) names_->prefetch_entry(entries[i]);
    }
    for (std::size_t i = 0; i < draws.size(); ++i) {
      const NodeId node = names_ ? names_->neighbor(entries[i]) : owner(entries[i]);
      if (lists_) lists_->prefetch_range(node);
      draws[i]->*end = node;
    }
  }

  bool accept(NodeId node, Rng& rng) const {
    if (power_ == 1) return true;
    const EdgeId degree = lists_->edges_of(node).size();
    if (degree == 0) [[unlikely]] {
      graph_->mapping()->check_intact();
      throw FormatError(graph_->path(), "corrupt index: node ", node,
                        " is the end of an edge, expected it to have a list, found none");
    }
    return degree == 1 ||
           rng.exponential() >= (1 - power_) * natural_log(static_cast<double>(degree));
  }

  // The node whose list holds the entry.
  NodeId owner(EdgeId entry) const {
    const std::int64_t* const ends = lists_->offset_of(0) + 1;
    const NodeId node = std::upper_bound(ends, ends + num_nodes_, entry) - ends;
    if (node < num_nodes_) [[likely]] {
      const EdgeRange list = lists_->edges_of(node);
      if (list.begin <= entry && entry < list.end) return node;
    }
    graph_->mapping()->check_intact();
    throw FormatError(graph_->path(), "corrupt indptr: expected a list that holds entry ", entry,
                      ", found none");
  }

  const Topology* graph_;
  NodeId num_nodes_;
  std::uint64_t num_edges_;
  double power_;
  std::optional<IndexReader<Id>> lists_;  // of the nodes drawn: their degrees
  std::optional<IndexReader<Id>> names_;  // of the other side, whose entries are the nodes drawn
};

// A node in proportion to its weight. Interface as UniformLaw.
class WeightLaw {
 public:
  static constexpr const char* kSource = "source that has a weight above 0";
  static constexpr const char* kDestination = "destination that has a weight above 0";

  // `weights` outlive this.
  explicit WeightLaw(const NodeWeights& weights) : weights_(&weights) {}

  NodeId num_nodes() const { return weights_->num_nodes(); }

  void draw(std::span<Draw> draws, NodeId Draw::* end) const {
    static_assert(kDrawGroup <= NodeWeights::kMostTargets);
    std::array<double, kDrawGroup> targets;
    std::array<NodeId, kDrawGroup> found;
    for (std::size_t i = 0; i < draws.size(); ++i)
      targets[i] = draws[i].rng.uniform() * weights_->total();
    weights_->find({targets.data(), draws.size()}, found.data());
    for (std::size_t i = 0; i < draws.size(); ++i) draws[i].*end = found[i];
  }

  std::optional<NodeId> draw_outside(std::span<const NodeId> refused, Rng& rng) const {
    return race_outside(*this, refused, rng);
  }

  template <class Body>
  void for_each_outside(std::span<const NodeId> refused, Body&& body) const {
    for_each_node_outside(num_nodes(), refused, [&](NodeId node) {
      if ((*weights_)[node] > 0) body(node, natural_log((*weights_)[node]));
    });
  }

 private:
  const NodeWeights* weights_;
};

}  // namespace gz
