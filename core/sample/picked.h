// Where picks put the positions they draw: kept, and on their way into cache at once.
#pragma once

#include <cstddef>
#include <span>

#include "core/base/buffer.h"
#include "core/base/types.h"
#include "core/store/index_reader.h"

namespace gz {

// A read takes a hundred times as long as a draw. Asking for each entry the moment it is drawn lets
// the next draws go on meanwhile; asking for all of them afterwards makes the draws wait.
template <class Id>
class Picked {
 public:
  explicit Picked(IndexReader<Id> reader) : reader_(reader) {}

  std::size_t size() const { return positions_.size(); }
  std::span<const EdgeId> positions() const { return positions_.span(); }
  EdgeId& operator[](std::size_t i) { return positions_[i]; }
  void clear() { positions_.clear(); }

  // Makes room for `count` calls of add(), which has none of its own.
  void reserve(EdgeId count) {
    positions_.reserve(positions_.size() + static_cast<std::size_t>(count));
  }

  [[gnu::always_inline]] void add(EdgeId position) {
    positions_.push_reserved(position);
    reader_.prefetch_entry(position);
    reader_.prefetch_edge_id(position);
  }

  void add_all(EdgeRange range) {
    EdgeId* const added = positions_.extend(static_cast<std::size_t>(range.size()));
    for (EdgeId i = 0; i < range.size(); ++i) added[i] = range.begin + i;
    for (EdgeId at = range.begin; at < range.end; at += kPerLine) {
      reader_.prefetch_entry(at);
      reader_.prefetch_edge_id(at);
    }
    if (range.size() > 0) {
      reader_.prefetch_entry(range.end - 1);
      reader_.prefetch_edge_id(range.end - 1);
    }
  }

 private:
  static constexpr EdgeId kPerLine = 64 / sizeof(Id);

  IndexReader<Id> reader_;
  Buffer<EdgeId> positions_;
};

}  // namespace gz
