// Gives nodes their local ids: an open-addressing table as large as the sample, not as the graph.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/base/buffer.h"
#include "core/base/prefetch.h"
#include "core/base/random.h"
#include "core/base/team.h"

namespace gz {

// Maps a key (a node, or a tree and a node) to its local id. `Word` holds both; its largest value
// is no key. Half full at most, so it takes 4 words per node of the sample. Against a direct table
// of the whole graph that is a few megabytes, which stay in cache, for O(nodes) per thread, which
// do not (docs/design/sampling.md).
template <class Word>
class NodeTable {
 public:
  static constexpr Word kNone = ~Word{0};

  // Makes room for `count` more keys; insert() and claim() never grow.
  void reserve(std::size_t count) {
    if ((size_ + count) * 2 > slots_.size()) {
      grow(size_ + count, [](std::size_t parts, const auto& body) {
        for (std::size_t part = 0; part < parts; ++part) body(part);
      });
    }
  }
  void reserve(std::size_t count, Team& team) {
    if ((size_ + count) * 2 > slots_.size()) {
      grow(size_ + count, [&](std::size_t parts, const auto& body) {
        team.run(parts, [&](std::size_t part, std::size_t) { body(part); });
      });
    }
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

  // Local ids for keys that several threads bring at once, each with a position of its own, in
  // steps that all threads end before the next:
  // 1. claim() returns the slot of the key. Of the claims of a new key the lowest position counts:
  //    `num_won` rises by one, and who had the key before is told by displaced(position).
  // 2. has() tells whether it was this one's in the end, and settle() gives the key its local id.
  // 3. local() is the id.
  // Positions, and local ids, are below kMostClaims.
  static constexpr Word kMostClaims = kNone / 2;

  template <class Displaced>
  [[gnu::always_inline]] std::size_t claim(Word key, Word position, std::size_t& num_won,
                                           const Displaced& displaced) {
    const Slot mine{key, kClaim | position};
    for (std::size_t at = home(key);; at = (at + 1) & mask_) {
      Slot held = load(slots_[at]);
      if (held.key == kNone && replace(slots_[at], held, mine)) {
        ++num_won;
        return at;
      }
      if (held.key != key) continue;
      // A local id is lower than any claim.
      while (mine.local < held.local) {
        if (!replace(slots_[at], held, mine)) continue;
        ++num_won;
        if (held.local != kNone) displaced(static_cast<Word>(held.local & kMostClaims));
        break;
      }
      return at;
    }
  }
  [[gnu::always_inline]] bool has(std::size_t slot, Word position) const {
    // Whoever has it may settle it at this moment; neither what it was nor what it becomes is ours.
    return std::atomic_ref(slots_[slot].local).load(std::memory_order_relaxed) ==
           (kClaim | position);
  }
  void settle(std::size_t slot, Word local) {
    std::atomic_ref(slots_[slot].local).store(local, std::memory_order_relaxed);
  }
  [[gnu::always_inline]] Word local(std::size_t slot) const { return slots_[slot].local; }
  [[gnu::always_inline]] void expect_slot(std::size_t slot) const { prefetch(&slots_[slot]); }
  // How many keys were settled.
  void add_settled(std::size_t count) { size_ += count; }

  // kNone if `key` has no local id.
  Word find(Word key) const {
    if (slots_.empty()) return kNone;
    for (std::size_t at = home(key);; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return slots_[at].local;
      if (slots_[at].key == kNone) return kNone;
    }
  }

 private:
  struct alignas(2 * sizeof(Word)) Slot {
    Word key;
    Word local;
  };

  // Both words of a slot change at once if the processor can do that. If not, the key comes first,
  // and then its claim: who finds the key meanwhile finds a claim that is higher than any other.
  static constexpr bool kAtOnce = sizeof(Slot) == 8;

  [[gnu::always_inline]] static Slot load(Slot& slot) {
    if constexpr (kAtOnce) return std::atomic_ref(slot).load(std::memory_order_relaxed);
    return {std::atomic_ref(slot.key).load(std::memory_order_relaxed),
            std::atomic_ref(slot.local).load(std::memory_order_relaxed)};
  }

  // Puts `fresh` into a slot that holds `held`; if it does not, returns false with what it holds.
  [[gnu::always_inline]] static bool replace(Slot& slot, Slot& held, Slot fresh) {
    if constexpr (kAtOnce) {
      return std::atomic_ref(slot).compare_exchange_strong(held, fresh, std::memory_order_relaxed);
    }
    if (held.key == kNone) {
      if (!std::atomic_ref(slot.key).compare_exchange_strong(held.key, fresh.key,
                                                             std::memory_order_relaxed))
        return false;
      held = {fresh.key, kNone};
    }
    return std::atomic_ref(slot.local)
        .compare_exchange_strong(held.local, fresh.local, std::memory_order_relaxed);
  }

  // The upper bits of a product depend on all bits of the key (Fibonacci hashing).
  std::size_t home(Word key) const {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(key) * kGoldenGamma) >> shift_);
  }

  // for_each(count, body) calls body(i) for every i below count, maybe on several threads.
  template <class ForEach>
  void grow(std::size_t count, const ForEach& for_each) {
    const Buffer<Slot> old = std::exchange(slots_, {});
    const std::size_t capacity = std::bit_ceil(count * 2 + kSmallest);
    slots_.extend(capacity);
    mask_ = capacity - 1;
    shift_ = 64 - std::countr_zero(capacity);
    const auto in_parts = [&](std::size_t size, const auto& body) {
      for_each((size + kPart - 1) / kPart,
               [&](std::size_t part) { body(part * kPart, std::min(size, (part + 1) * kPart)); });
    };
    in_parts(capacity, [&](std::size_t begin, std::size_t end) {
      // All ones in every byte: no key.
      std::memset(static_cast<void*>(&slots_[begin]), 0xff, (end - begin) * sizeof(Slot));
    });
    in_parts(old.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (i + kAhead < end) expect(old[i + kAhead].key);
        if (old[i].key == kNone) continue;
        std::size_t num_won = 0;
        settle(claim(old[i].key, 0, num_won, [](Word) {}), old[i].local);
      }
    });
  }

  static constexpr std::size_t kSmallest = 1024;
  static constexpr std::size_t kAhead = 16;
  static constexpr std::size_t kPart = 1 << 15;          // slots a thread takes at a time
  static constexpr Word kClaim = kMostClaims + Word{1};  // the bit that no local id has

  Buffer<Slot> slots_;
  std::size_t mask_ = 0;
  int shift_ = 0;
  std::size_t size_ = 0;
};

}  // namespace gz
