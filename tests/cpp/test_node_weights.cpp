#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/sample/node_weights.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

NodeId found_at(const NodeWeights& weights, double target) {
  NodeId found = -1;
  weights.find({&target, 1}, &found);
  return found;
}

TEST(a_target_finds_the_node_whose_share_it_lies_in) {
  for (std::size_t size = 1; size <= 70; ++size) {
    std::vector<double> given;
    for (std::size_t i = 0; i < size; ++i) given.push_back(i % 3 == 1 ? 0 : double(1 + i % 5));
    const NodeWeights weights("by", given);
    double sum = 0;
    for (NodeId node = 0; node < weights.num_nodes(); ++node) {
      if (weights[node] == 0) continue;
      EXPECT(found_at(weights, sum) == node);
      sum += weights[node];
      EXPECT(found_at(weights, std::nextafter(sum, 0.0)) == node);
    }
    EXPECT(sum == weights.total());
  }
}

TEST(many_targets_are_found_as_if_each_were_alone) {
  std::vector<double> given;
  for (std::size_t i = 0; i < 1000; ++i) given.push_back(double(i * i % 17));
  const NodeWeights weights("by", given);
  std::vector<double> targets;
  for (std::size_t i = 0; i < NodeWeights::kMostTargets; ++i)
    targets.push_back(weights.total() * double(i * 7 % 32) / 32);
  std::vector<NodeId> found(targets.size());
  weights.find(targets, found.data());
  for (std::size_t i = 0; i < targets.size(); ++i)
    EXPECT(found[i] == found_at(weights, targets[i]));
}

TEST(weights_are_normal_numbers_of_about_one) {
  for (const double unit : {1e-320, 1.0, 1e300}) {
    const std::vector<double> given = {unit, 0, 4 * unit};
    const NodeWeights weights("by", given);
    EXPECT(weights[2] >= 0.5 && weights[2] < 1 && weights[1] == 0);
    EXPECT(weights[2] == 4 * weights[0]);
  }
  const std::vector<double> given = {5e-324, 1e308};
  EXPECT(std::isnormal(NodeWeights("by", given)[0]));
}

TEST(weights_that_no_memory_can_hold_are_refused_before_one_is_read) {
  const double one = 1;
  std::string message;
  try {
    NodeWeights("by", {&one, std::size_t{1} << 50});
  } catch (const MemoryShortage& error) {
    message = error.what();
  }
  EXPECT(message.starts_with("by: keeping 1125899906842624 weights needs "));
}

}  // namespace
}  // namespace gz
