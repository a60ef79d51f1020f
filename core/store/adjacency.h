// Is there an edge? Looked up in the shorter of the two lists that would hold it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/types.h"
#include "core/store/ahead.h"
#include "core/store/index_reader.h"
#include "core/store/topology.h"

namespace gz {

// Lists in order of neighbour are searched by halving. Lists in order of time, and those of
// GraphZero 0.2, are read from end to end. Node arguments are trusted; use inside guarded(), as
// IndexReader.
template <class Id>
class EdgeLookup {
 public:
  // As many questions as are answered side by side, so that they wait for memory together.
  static constexpr std::size_t kGroup = 32;

  // In the out and the in index, or in the one that the file stores.
  explicit EdgeLookup(const Topology& graph) : in_order_(graph.in_order_of_neighbor()) {
    if (graph.has(Direction::kOut)) forward_.emplace(graph, Direction::kOut);
    if (graph.has(Direction::kIn)) backward_.emplace(graph, Direction::kIn);
  }
  // In `index` alone, of either direction. That of an undirected graph holds each edge both ways.
  explicit EdgeLookup(const IndexReader<Id>& index)
      : in_order_(index.graph().in_order_of_neighbor()), forward_(index) {
    if (!index.graph().layout().directed) backward_ = index;
  }

  // Whether lists are in order of neighbour.
  bool in_order() const { return in_order_; }
  // The lists in which `from` is looked up instead of `to`. Null: there are none.
  const IndexReader<Id>* backward() const { return backward_ ? &*backward_ : nullptr; }

  // Is there an entry `to` in the list of `from`? The answer is in `found`: the first such entry,
  // or the end of the list.
  struct Question {
    std::uint32_t asker = 0;  // a number of the caller's own
    NodeId from = 0;
    NodeId to = 0;
    const IndexReader<Id>* index = nullptr;
    EdgeId found = 0;
    EdgeId count = 0;  // entries still to be compared
    EdgeRange list = {};

    bool yes() const { return found < list.end; }

    void open() {
      found = list.begin;
      count = list.size();
    }
    // Which half comes next is arithmetic: a branch would be mispredicted every other time.
    void narrow() {
      const EdgeId half = count / 2;
      const EdgeId below = index->neighbor(found + half) < to;
      found += (half + 1) & -below;
      count = half - (below & ~count);
    }
    void close() {
      if (yes() && index->neighbor(found) != to) found = list.end;
    }
    void scan() {
      for (found = list.begin; found < list.end && index->neighbor(found) != to;) ++found;
    }
  };

  // Chooses the shorter of the two lists that would hold each edge; if that is the one of `to`,
  // `to` becomes `from`. Offsets should be on their way to the cache: those of `from` forward, of
  // `to` backward.
  template <class Ahead>
  void answer(std::span<Question> questions, Ahead& ahead) const {
    for (Question& question : questions) {
      const EdgeRange list = forward_ ? forward_->edges_of(question.from) : EdgeRange{};
      const EdgeRange other = backward_ ? backward_->edges_of(question.to) : EdgeRange{};
      const bool back = backward_ && (!forward_ || other.size() < list.size());
      question.index = back ? &*backward_ : &*forward_;
      question.list = back ? other : list;
      question.to = back ? question.from : question.to;
    }
    answer_in_list(questions, ahead);
  }

  // The same where `index` and `list` are given.
  template <class Ahead>
  void answer_in_list(std::span<Question> questions, Ahead& ahead) const {
    if (!in_order_) {
      for (Question& question : questions) question.scan();
      return;
    }
    for (Question& question : questions) {
      question.open();
      expect(question, ahead);
    }
    ahead.flush();
    for (bool open = true; open;) {
      open = false;
      for (Question& question : questions) {
        if (question.count == 0) continue;
        open = true;
        question.narrow();
        expect(question, ahead);
      }
      ahead.flush();
    }
    for (Question& question : questions) question.close();
  }

  // The lowest edge id of the entries an answered question asked for, or -1.
  EdgeId lowest_edge(const Question& question) const {
    EdgeId lowest = -1;
    for (EdgeId entry = question.found; entry < question.list.end; ++entry) {
      if (question.index->neighbor(entry) == question.to) {
        const EdgeId edge = question.index->edge_id(entry);
        lowest = lowest < 0 ? edge : std::min(lowest, edge);
      } else if (in_order_) {
        break;
      }
    }
    return lowest;
  }

  // found[i] = 1 if src[i] → dst[i] is an edge, else 0.
  void test(std::span<const NodeId> src, std::span<const NodeId> dst, std::uint8_t* found) const {
    CacheLines ahead;
    std::array<Question, kGroup> questions;
    for (std::size_t begin = 0; begin < src.size(); begin += kGroup) {
      const std::size_t count = std::min(kGroup, src.size() - begin);
      for (std::size_t i = 0; i < count; ++i) {
        questions[i].from = src[begin + i];
        questions[i].to = dst[begin + i];
        if (forward_) forward_->prefetch_range(questions[i].from);
        if (backward_) backward_->prefetch_range(questions[i].to);
      }
      answer(std::span(questions).first(count), ahead);
      for (std::size_t i = 0; i < count; ++i) found[begin + i] = questions[i].yes();
    }
  }

  // Whether `list`, which must be in order of neighbour, names `wanted`.
  static bool holds(const IndexReader<Id>& index, EdgeRange list, NodeId wanted) {
    Question question{.to = wanted, .index = &index, .list = list};
    question.open();
    while (question.count > 0) question.narrow();
    question.close();
    return question.yes();
  }

 private:
  template <class Ahead>
  [[gnu::always_inline]] static void expect(const Question& question, Ahead& ahead) {
    // To bring a line closer in vain costs less than to know; to ask for a page does not.
    if (!Ahead::kPages || question.count > 0)
      ahead.want(question.index->entry(question.found + question.count / 2));
  }

  bool in_order_;
  std::optional<IndexReader<Id>> forward_;
  std::optional<IndexReader<Id>> backward_;
};

// Item i is 1 if src[i] → dst[i] is an edge, else 0. Throws std::invalid_argument if the lengths
// differ, std::out_of_range naming a node that is not there and its position.
std::vector<std::uint8_t> has_edges(const Topology& graph, std::span<const NodeId> src,
                                    std::span<const NodeId> dst);

}  // namespace gz
