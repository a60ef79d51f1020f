// Merging of sorted sequences: a tournament in which only the winner's path is played again.
#pragma once

#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

namespace gz {

// A Cursor stands on an item, or at its end: `bool at_end()`, `void next()`, and `bool
// before(other)` for two that are not at their ends.
template <class Cursor>
class Merge {
 public:
  explicit Merge(std::vector<Cursor>& cursors)
      : cursors_(cursors), leaves_(std::bit_ceil(std::max<std::size_t>(cursors.size(), 1))) {
    losers_.assign(leaves_, 0);
    winner_ = cursors.empty() ? 0 : play(1);
  }

  bool at_end() const { return cursors_.empty() || cursors_[winner_].at_end(); }
  const Cursor& top() const { return cursors_[winner_]; }

  void next() {
    cursors_[winner_].next();
    for (std::size_t node = (winner_ + leaves_) / 2; node > 0; node /= 2) {
      if (beats(losers_[node], winner_)) std::swap(losers_[node], winner_);
    }
  }

 private:
  bool beats(std::size_t a, std::size_t b) const {
    if (a >= cursors_.size() || cursors_[a].at_end()) return false;
    if (b >= cursors_.size() || cursors_[b].at_end()) return true;
    return cursors_[a].before(cursors_[b]);
  }

  std::size_t play(std::size_t node) {
    if (node >= leaves_) return node - leaves_;
    std::size_t winner = play(2 * node);
    std::size_t loser = play(2 * node + 1);
    if (beats(loser, winner)) std::swap(winner, loser);
    losers_[node] = loser;
    return winner;
  }

  std::vector<Cursor>& cursors_;
  std::size_t leaves_;
  std::vector<std::size_t> losers_;
  std::size_t winner_ = 0;
};

}  // namespace gz
