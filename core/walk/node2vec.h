// The node2vec step (Grover, Leskovec: node2vec, KDD 2016), by rejection.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/store/adjacency.h"
#include "core/store/index_reader.h"
#include "core/walk/walkers.h"

namespace gz {

// From t a walker came to v, and now goes to x with a probability in proportion to
// weight(v → x) * bias, where the bias is 1/p if x is t, 1 if there is an edge t → x, and 1/q
// otherwise. Parallel edges count one by one. A first step has no t and no bias.
//
// Entries are proposed by `Proposal` and accepted with bias / bound, as in KnightKing (Yang et al.,
// SOSP 2019): no tables, and the expected number of trials does not depend on degrees. The number
// that decides is drawn before the proposal, so most trials need not know whether t → x exists.
template <class Id, class Proposal>
class Node2vec {
 public:
  static constexpr bool kFirstOrder = false;
  struct Scratch {
    typename Proposal::Scratch proposal;
    std::vector<double> heights;        // by walker: accepted are biases above this
    std::vector<double> return_weight;  // by walker: of all entries that lead back to t
    std::vector<EdgeId> return_entry;   // by walker: one of them
    std::vector<std::uint32_t> pending;
    std::vector<std::uint32_t> rejected;
    std::vector<typename EdgeLookup<Id>::Question> questions;

    void make_room(std::size_t num_walkers) {
      proposal.make_room(num_walkers);
      heights.resize(num_walkers);
      return_weight.resize(num_walkers);
      return_entry.resize(num_walkers);
    }
  };

  Node2vec(const Topology& graph, Direction direction, double p, double q)
      : proposal_(graph, direction),
        lookup_(proposal_.index()),
        return_bias_(1 / p),
        far_bias_(1 / q),
        bound_(std::max(1.0, far_bias_)),
        return_is_outlier_(return_bias_ > bound_) {}

  const IndexReader<Id>& index() const { return proposal_.index(); }

  template <class Ahead>
  void choose(Walkers& walkers, Chosen chosen, Scratch& scratch, Ahead& ahead) const {
    proposal_.open(walkers, chosen, scratch.proposal, ahead);
    auto& pending = scratch.pending;
    pending.clear();
    for (const std::uint32_t i : chosen) {
      walkers[i].position = kDeadEnd;
      if (walkers[i].list.size() > 0) pending.push_back(i);
    }
    if (return_is_outlier_) weigh_return(walkers, scratch, ahead);
    for (EdgeId trial = 0; !pending.empty(); ++trial) {
      throw_darts(walkers, trial, scratch);
      proposal_.draw(walkers, pending, scratch.proposal, ahead);
      judge(walkers, scratch, ahead);
    }
  }

 private:
  // Trials before the list is read instead; where one in five is accepted, fewer than one step in a
  // million gets this far. Short lists are read earlier, which is cheaper than more trials.
  static constexpr EdgeId kMostTrials = 64;
  static constexpr EdgeId kTrialsPerEntry = 4;

  // A small p makes one entry far heavier than all others. Were it the bound, nearly all proposals
  // would be rejected; instead the part of its weight above the bound is drawn separately.
  template <class Ahead>
  void weigh_return(const Walkers& walkers, Scratch& scratch, Ahead& ahead) const {
    auto& questions = scratch.questions;
    questions.clear();
    for (const std::uint32_t i : scratch.pending) {
      scratch.return_weight[i] = 0;
      if (walkers[i].previous == kNowhere) continue;
      questions.push_back({.asker = i,
                           .from = walkers[i].node,
                           .to = walkers[i].previous,
                           .index = &index(),
                           .list = walkers[i].list});
    }
    lookup_.answer_in_list(questions, ahead);
    for (const auto& question : questions) {
      scratch.return_entry[question.asker] = question.found;
      scratch.return_weight[question.asker] = weight_of_equal(question.list, question.found);
    }
  }

  // The weight of all entries of `list` that name the same neighbour as the one at `first`.
  double weight_of_equal(EdgeRange list, EdgeId first) const {
    double sum = 0;
    for (EdgeId at = first; at < list.end; ++at) {
      if (*index().entry(at) == *index().entry(first)) {
        sum += proposal_.weight(at);
      } else if (lookup_.in_order()) {
        break;
      }
    }
    return sum;
  }

  // Draws what decides on the next proposals. Walkers that return by the outlier are done, and so
  // are those with too many trials behind them: to give up after a number of trials that the list
  // alone determines, and to draw from the exact law then, is still exact.
  void throw_darts(Walkers& walkers, EdgeId trial, Scratch& scratch) const {
    std::size_t kept = 0;
    for (const std::uint32_t i : scratch.pending) {
      if (trial == std::min(kMostTrials, kTrialsPerEntry * walkers[i].list.size())) {
        walkers[i].position = draw_by_scan(walkers, i);
        continue;
      }
      if (walkers[i].previous == kNowhere) {
        scratch.heights[i] = 0;
      } else {
        if (return_is_outlier_ && scratch.return_weight[i] > 0) {
          const double usual = bound_ * proposal_.total(walkers, scratch.proposal, i);
          const double extra = scratch.return_weight[i] * (return_bias_ - bound_);
          if (walkers[i].rng.uniform() * (usual + extra) >= usual) {
            walkers[i].position = scratch.return_entry[i];
            continue;
          }
        }
        scratch.heights[i] = walkers[i].rng.uniform() * bound_;
      }
      scratch.pending[kept++] = i;
    }
    scratch.pending.resize(kept);
  }

  // Keeps in `pending` those whose proposal is rejected.
  template <class Ahead>
  void judge(const Walkers& walkers, Scratch& scratch, Ahead& ahead) const {
    const double low = std::min(1.0, far_bias_);
    auto& [proposal, heights, return_weight, return_entry, pending, rejected, questions] = scratch;
    rejected.clear();
    questions.clear();
    for (const std::uint32_t i : pending) {
      const NodeId previous = walkers[i].previous;
      if (previous == kNowhere) continue;
      const NodeId next = index().neighbor(walkers[i].position);
      if (next == previous) {
        if (heights[i] >= return_bias_) rejected.push_back(i);
      } else if (heights[i] >= low) {
        questions.push_back({.asker = i, .from = previous, .to = next});
      }
    }
    // The offsets of the nodes that walkers came from have been read before.
    if (const IndexReader<Id>* const backward = lookup_.backward()) {
      for (const auto& question : questions) ahead.want(backward->offset_of(question.to));
      ahead.flush();
    }
    lookup_.answer(questions, ahead);
    for (const auto& question : questions) {
      const double bias = question.yes() ? 1.0 : far_bias_;
      if (heights[question.asker] >= bias) rejected.push_back(question.asker);
    }
    std::swap(pending, rejected);
  }

  // Two passes over the list: add up, then find. O(degree * log(degree of t)), and for lists that
  // are not in order a sorted copy of that of t.
  [[gnu::noinline]] EdgeId draw_by_scan(Walkers& walkers, std::uint32_t i) const {
    const NodeId previous = walkers[i].previous;
    const EdgeRange list = walkers[i].list;
    const EdgeRange near_list = index().edges_of(previous);
    std::span<const Id> near(index().entry(near_list.begin), index().entry(near_list.end));
    std::vector<Id> sorted;
    if (!lookup_.in_order()) {
      sorted.assign(near.begin(), near.end());
      std::sort(sorted.begin(), sorted.end());
      near = sorted;
    }
    const auto biased_weight = [&](EdgeId at) {
      const NodeId next = index().neighbor(at);
      const double weight = proposal_.weight(at);
      if (next == previous) return weight * return_bias_;
      const bool is_near = std::binary_search(near.begin(), near.end(), static_cast<Id>(next));
      return is_near ? weight : weight * far_bias_;
    };
    double total = 0;
    for (EdgeId at = list.begin; at < list.end; ++at) total += biased_weight(at);
    const double target = walkers[i].rng.uniform() * total;
    double sum = 0;
    EdgeId at = list.begin;
    for (; at < list.end - 1; ++at) {
      sum += biased_weight(at);
      if (sum > target) break;
    }
    return at;
  }

  Proposal proposal_;
  EdgeLookup<Id> lookup_;
  double return_bias_;
  double far_bias_;
  double bound_;  // of all biases, but for the outlier's
  bool return_is_outlier_;
};

}  // namespace gz
