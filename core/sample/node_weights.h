// Weights that a user gives for all nodes of one side, to draw nodes in proportion to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/types.h"

namespace gz {

// A copy of the weights and a float64 sum for every eighth: 9 bytes a node, made in one pass. A
// draw is a search by halving; its probability is right to within 2^-53 of 1.
class NodeWeights {
 public:
  // `name` is what messages call the weights. Throws std::invalid_argument naming the first one
  // that is negative or not finite, or if none is above 0, and MemoryShortage.
  NodeWeights(std::string name, std::span<const double> weights);

  const std::string& name() const { return name_; }
  NodeId num_nodes() const { return static_cast<NodeId>(weights_.size()); }
  double total() const { return total_; }
  // In another unit than they were given in. Above 0 they are normal numbers.
  double operator[](NodeId node) const { return weights_[static_cast<std::size_t>(node)]; }

  // found[i] is the node at which the running sum passes targets[i], 0 <= targets[i] < total(): it
  // has a weight above 0. The targets, at most kMostTargets, wait for memory together.
  void find(std::span<const double> targets, NodeId* found) const;
  static constexpr std::size_t kMostTargets = 32;

 private:
  static constexpr std::size_t kStride = 8;  // weights in a cache line

  std::string name_;
  std::vector<double> weights_;
  std::vector<double> sums_;  // of the weights before each stride, added in order
  double total_ = 0;
};

}  // namespace gz
