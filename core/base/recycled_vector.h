// A vector whose memory is recycled, and counts as such.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/recycled_memory.h"

namespace gz {

template <class Item>
struct RecycledAllocator {
  using value_type = Item;

  RecycledAllocator() = default;
  template <class Other>
  RecycledAllocator(const RecycledAllocator<Other>&) {}

  Item* allocate(std::size_t count) {
    return static_cast<Item*>(hand_out_exactly(count * sizeof(Item)).data);
  }
  void deallocate(Item* data, std::size_t count) noexcept {
    take_back({data, block_bytes(count * sizeof(Item))});
  }
  bool operator==(const RecycledAllocator&) const = default;
};

// For what has an entry per row or per node: once the C library has freed a large block it keeps
// all up to that size in its heaps, where they count as ours until the process ends.
template <class Item>
using RecycledVector = std::vector<Item, RecycledAllocator<Item>>;

}  // namespace gz
