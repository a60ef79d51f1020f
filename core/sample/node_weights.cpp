#include "core/sample/node_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/base/error.h"
#include "core/base/machine.h"

namespace gz {

NodeWeights::NodeWeights(std::string name, std::span<const double> weights)
    : name_(std::move(name)) {
  const std::size_t strides = (weights.size() + kStride - 1) / kStride;
  const std::uint64_t bytes = (weights.size() + strides) * sizeof(double);
  // Asking how much memory there is takes longer than adding up a few weights.
  if (bytes >= (1 << 20))
    require_memory(bytes, concat(name_, ": keeping ", weights.size(), " weights"));
  double largest = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0 && std::isfinite(weights[i]))) {
      throw std::invalid_argument(concat(name_, "[", i, "]: expected a weight that is finite and ",
                                         "not negative, found ", weights[i]));
    }
    largest = std::max(largest, weights[i]);
  }
  if (largest == 0) {
    throw std::invalid_argument(concat(name_, ": expected at least one weight above 0, found ",
                                       "none among ", weights.size()));
  }
  weights_.reserve(weights.size());
  sums_.reserve(strides);
  // In units of a power of two near the largest no sum overflows and no bit is lost. What would be
  // too small to be a normal number, which a logarithm needs, becomes the smallest normal one.
  int exponent = 0;
  std::frexp(largest, &exponent);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (i % kStride == 0) sums_.push_back(total_);
    const double scaled = std::ldexp(weights[i], -exponent);
    weights_.push_back(weights[i] > 0 ? std::max(scaled, std::numeric_limits<double>::min()) : 0.0);
    total_ += weights_.back();
  }
}

void NodeWeights::find(std::span<const double> targets, NodeId* found) const {
  // All searches take the same steps: sums_[low] <= target, and its stride is among `left`.
  std::array<std::size_t, kMostTargets> low{};
  for (std::size_t left = sums_.size(); left > 1;) {
    const std::size_t half = left / 2;
    for (std::size_t i = 0; i < targets.size(); ++i)
      low[i] += sums_[low[i] + half] <= targets[i] ? half : 0;
    left -= half;
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    std::size_t node = low[i] * kStride;
    // Adding in the same order reaches the next stride's own sum, which is above the target.
    double sum = sums_[low[i]] + weights_[node];
    while (sum <= targets[i]) sum += weights_[++node];
    found[i] = static_cast<NodeId>(node);
  }
}

}  // namespace gz
