// Whether edges exist: many questions at once, answered side by side.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/store/index_reader.h"

namespace gz {

// A list that is in order of neighbour is searched in O(log degree). Those of GraphZero 0.2 files
// and of graphs with timestamps are in another order, and are read from their beginning.
template <class Id>
class Adjacency {
 public:
  explicit Adjacency(const IndexReader<Id>& index)
      : index_(index),
        in_order_(index.graph().in_order_of_neighbor()),
        symmetric_(!index.graph().layout().directed) {}

  bool in_order() const { return in_order_; }

  // Is there an entry `to` in the list of `from`? The answer is in `found`: the first such entry,
  // or the end of the list.
  struct Question {
    std::uint32_t walker;
    NodeId from;
    NodeId to;
    EdgeRange list;
    EdgeId found;
    EdgeId count;  // entries still to be compared

    bool yes() const { return found < list.end; }
  };

  // Where edges go both ways the shorter list answers; `list` says which one that was.
  template <class Ahead>
  void answer_either_way(std::span<Question> questions, Ahead& ahead) const {
    if (symmetric_) {
      for (const Question& question : questions) ahead.want(index_.offset_of(question.to));
      ahead.flush();
    }
    for (Question& question : questions) {
      question.list = index_.edges_of(question.from);
      if (!symmetric_) continue;
      const EdgeRange other = index_.edges_of(question.to);
      if (other.size() < question.list.size()) {
        question.list = other;
        std::swap(question.from, question.to);
      }
    }
    answer(questions, ahead);
  }

  // The same for lists that are known: `list` is that of `from`.
  template <class Ahead>
  void answer(std::span<Question> questions, Ahead& ahead) const {
    if (!in_order_) {
      for (Question& question : questions) scan(question);
      return;
    }
    for (Question& question : questions) {
      question.found = question.list.begin;
      question.count = question.list.size();
      look(question, ahead);
    }
    ahead.flush();
    for (bool open = true; open;) {
      open = false;
      for (Question& question : questions) {
        if (question.count == 0) continue;
        narrow(question);
        look(question, ahead);
        open |= question.count > 0;
      }
      ahead.flush();
    }
    for (Question& question : questions) {
      if (question.yes() && *index_.entry(question.found) != static_cast<Id>(question.to))
        question.found = question.list.end;
    }
  }

 private:
  template <class Ahead>
  [[gnu::always_inline]] void look(const Question& question, Ahead& ahead) const {
    if (question.count > 0) ahead.want(index_.entry(question.found + question.count / 2));
  }

  void narrow(Question& question) const {
    const EdgeId half = question.count / 2;
    const bool below = *index_.entry(question.found + half) < static_cast<Id>(question.to);
    question.found = below ? question.found + half + 1 : question.found;
    question.count = below ? question.count - half - 1 : half;
  }

  void scan(Question& question) const {
    const Id* const end = index_.entry(question.list.end);
    const Id* const found =
        std::find(index_.entry(question.list.begin), end, static_cast<Id>(question.to));
    question.found = question.list.end - (end - found);
  }

  IndexReader<Id> index_;
  bool in_order_;
  bool symmetric_;
};

}  // namespace gz
