// A hash set of string labels that is sorted in its own memory, and cursors over sorted ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/convert/sorted_run.h"
#include "core/format/gi.h"

namespace gz {

// Labels by the order of their bytes. `key` are the first eight, so most comparisons end there.
struct StringItem {
  std::uint64_t key = 0;
  const std::byte* data = nullptr;
  std::uint32_t length = 0;

  static std::uint64_t key_of(const std::byte* data, std::uint32_t length) {
    std::uint64_t key = 0;
    std::memcpy(&key, data, std::min<std::size_t>(length, sizeof key));
    return __builtin_bswap64(key);
  }
  bool before(const StringItem& other) const {
    if (key != other.key) return key < other.key;
    const int order = std::memcmp(data, other.data, std::min(length, other.length));
    return order != 0 ? order < 0 : length < other.length;
  }
};

// A set of strings, with bytes of its own.
class StringSet {
  // In front of the bytes of a label are four with its length.
  struct Entry {
    std::uint64_t hash = 0;
    const std::byte* data = nullptr;
  };

 public:
  using Label = std::span<const std::byte>;

  static std::uint64_t hash(Label label) { return xxh64(label); }

  void set_block(std::size_t bytes) { block_bytes_ = bytes; }

  void prefetch(std::uint64_t hash) const {
    if (!entries_.empty()) __builtin_prefetch(&entries_[home(hash)]);
  }

  void insert(Label label, std::uint64_t hash) {
    if ((used_ + 1) * 5 > entries_.size() * 4) grow();
    std::size_t slot = home(hash);
    while (entries_[slot].data != nullptr) {
      if (entries_[slot].hash == hash && equals(entries_[slot].data, label)) return;
      slot = slot + 1 == entries_.size() ? 0 : slot + 1;
    }
    entries_[slot] = {hash, keep(label)};
    ++used_;
  }

  std::uint64_t memory() const { return entries_.size() * sizeof(Entry) + arena_bytes_; }
  std::uint64_t size() const { return used_; }

  // The set cannot be used until clear().
  void sort() {
    std::size_t kept = 0;
    for (const Entry& entry : entries_) {
      if (entry.data != nullptr) entries_[kept++] = entry;
    }
    for (std::size_t i = 0; i < kept; ++i) {
      // From here on the hash gives its place to the key.
      entries_[i].hash = StringItem::key_of(entries_[i].data, length_at(entries_[i].data));
    }
    std::sort(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(kept),
              [](const Entry& a, const Entry& b) {
                if (a.hash != b.hash) return a.hash < b.hash;
                return item(a).before(item(b));
              });
  }
  void clear() {
    std::fill(entries_.begin(), entries_.end(), Entry{});
    used_ = 0;
    long_.clear();  // the ordinary blocks are used again
    arena_bytes_ = blocks_.size() * block_bytes_;
    block_ = 0;
    block_used_ = 0;
  }

  class Cursor {
   public:
    explicit Cursor(const StringSet& shard) : at_(shard.entries_.data()), end_(at_ + shard.used_) {
      read();
    }
    bool at_end() const { return at_ == end_; }
    void next() {
      ++at_;
      read();
    }
    bool before(const Cursor& other) const { return item_.before(other.item_); }
    Label label() const { return {item_.data, item_.length}; }
    void write(RunWriter& run) const {
      run.put(&item_.length, sizeof item_.length);
      run.put(item_.data, item_.length);
    }

   private:
    void read() {
      if (at_ == end_) return;
      item_ = item(*at_);
      // In order the labels lie anywhere; by the time this set wins again they are there.
      if (end_ - at_ > 2) __builtin_prefetch(at_[2].data - sizeof(std::uint32_t));
    }
    const Entry* at_;
    const Entry* end_;
    StringItem item_;
  };

  class RunCursor {
   public:
    explicit RunCursor(RunReader reader) : reader_(std::move(reader)) { next(); }
    bool at_end() const { return end_; }
    void next() {
      end_ = reader_.at_end();
      if (end_) return;
      std::memcpy(&item_.length, reader_.take(sizeof item_.length), sizeof item_.length);
      item_.data = reader_.take(item_.length);
      item_.key = StringItem::key_of(item_.data, item_.length);
    }
    bool before(const RunCursor& other) const { return item_.before(other.item_); }
    Label label() const { return {item_.data, item_.length}; }

   private:
    RunReader reader_;
    StringItem item_;
    bool end_ = false;
  };

  class Last {
   public:
    bool is(Label label) const { return any_ && std::ranges::equal(label, label_); }
    void set(Label label) {
      any_ = true;
      label_.assign(label.begin(), label.end());
    }

   private:
    bool any_ = false;
    std::vector<std::byte> label_;
  };

 private:
  static std::uint32_t length_at(const std::byte* data) {
    std::uint32_t length;
    std::memcpy(&length, data - sizeof length, sizeof length);
    return length;
  }
  static StringItem item(const Entry& entry) {
    return {entry.hash, entry.data, length_at(entry.data)};
  }
  static bool equals(const std::byte* data, Label label) {
    return length_at(data) == label.size() &&
           (label.empty() || std::memcmp(data, label.data(), label.size()) == 0);
  }

  std::size_t home(std::uint64_t hash) const {
    return static_cast<std::size_t>(multiply_wide(hash << 8, entries_.size()).high);
  }
  void grow() {
    std::vector<Entry> old(std::max<std::size_t>(64, entries_.size() + entries_.size() / 2));
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.data == nullptr) continue;
      std::size_t slot = home(entry.hash);
      while (entries_[slot].data != nullptr) slot = slot + 1 == entries_.size() ? 0 : slot + 1;
      entries_[slot] = entry;
    }
  }

  // Copies a label, behind its length, to where it stays until clear().
  const std::byte* keep(Label label) {
    const auto length = static_cast<std::uint32_t>(label.size());
    std::byte* const at = allocate(sizeof length + label.size());
    std::memcpy(at, &length, sizeof length);
    if (length > 0) std::memcpy(at + sizeof length, label.data(), length);
    return at + sizeof length;
  }
  std::byte* allocate(std::size_t size) {
    if (size > block_bytes_ / 4) {
      arena_bytes_ += size;
      return long_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(size)).get();
    }
    if (block_ < blocks_.size() && block_used_ + size > block_bytes_) {
      ++block_;
      block_used_ = 0;
    }
    if (block_ == blocks_.size()) {
      blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(block_bytes_));
      arena_bytes_ += block_bytes_;
    }
    std::byte* const at = blocks_[block_].get() + block_used_;
    block_used_ += size;
    return at;
  }

  std::vector<Entry> entries_;
  std::size_t used_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::vector<std::unique_ptr<std::byte[]>> long_;  // a label each
  std::size_t block_ = 0;                           // the one being filled
  std::size_t block_used_ = 0;
  std::size_t block_bytes_ = 1 << 16;
  std::uint64_t arena_bytes_ = 0;
};

}  // namespace gz
