// Gives nodes their local ids: an open-addressing table as large as the sample, not as the graph.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/base/buffer.h"
#include "core/base/prefetch.h"
#include "core/base/random.h"

namespace gz {

// Maps a key (a node, or a tree and a node) to its local id. `Word` holds both; its largest value
// is no key. Half full at most, so it takes 4 words per node of the sample. Against a direct table
// of the whole graph that is a few megabytes, which stay in cache, for O(nodes) per thread, which
// do not (docs/design/sampling.md).
template <class Word>
class NodeTable {
 public:
  static constexpr Word kNone = ~Word{0};

  // Makes room for `count` more keys; insert() never grows.
  void reserve(std::size_t count) {
    if ((size_ + count) * 2 > slots_.size()) grow(size_ + count);
  }

  [[gnu::always_inline]] void expect(Word key) const { prefetch_to_write(&slots_[home(key)]); }

  // The local id of `key`; `fresh`, which it then has from now on, if it had none. Whether a key is
  // new cannot be predicted, so there is no branch on it.
  [[gnu::always_inline]] Word insert(Word key, Word fresh) {
    std::size_t at = home(key);
    while (slots_[at].key != key && slots_[at].key != kNone) at = (at + 1) & mask_;
    Slot& slot = slots_[at];
    const bool is_new = slot.key == kNone;
    slot.key = key;
    slot.local = is_new ? fresh : slot.local;
    size_ += is_new;
    return slot.local;
  }

  // kNone if `key` has no local id.
  Word find(Word key) const {
    if (slots_.empty()) return kNone;
    for (std::size_t at = home(key);; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return slots_[at].local;
      if (slots_[at].key == kNone) return kNone;
    }
  }

 private:
  struct Slot {
    Word key;
    Word local;
  };

  // The upper bits of a product depend on all bits of the key (Fibonacci hashing).
  std::size_t home(Word key) const {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(key) * kGoldenGamma) >> shift_);
  }

  void grow(std::size_t count) {
    const Buffer<Slot> old = std::exchange(slots_, {});
    const std::size_t capacity = std::bit_ceil(count * 2 + kSmallest);
    // All ones in every byte: no key.
    std::memset(static_cast<void*>(slots_.extend(capacity)), 0xff, capacity * sizeof(Slot));
    mask_ = capacity - 1;
    shift_ = 64 - std::countr_zero(capacity);
    size_ = 0;
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (i + kAhead < old.size()) expect(old[i + kAhead].key);
      if (old[i].key != kNone) insert(old[i].key, old[i].local);
    }
  }

  static constexpr std::size_t kSmallest = 1024;
  static constexpr std::size_t kAhead = 16;

  Buffer<Slot> slots_;
  std::size_t mask_ = 0;
  int shift_ = 0;
  std::size_t size_ = 0;
};

}  // namespace gz
