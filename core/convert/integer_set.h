// A hash set of integer labels that is sorted in its own memory, and cursors over sorted ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/convert/sorted_run.h"

namespace gz {

// A set of integers. Keys are labels with the sign bit flipped, so that they sort as unsigned.
class IntegerSet {
 public:
  using Label = std::int64_t;

  static std::uint64_t key_of(Label label) {
    return static_cast<std::uint64_t>(label) ^ (std::uint64_t{1} << 63);
  }
  static Label label_of(std::uint64_t key) {
    return static_cast<Label>(key ^ (std::uint64_t{1} << 63));
  }
  static std::uint64_t hash(Label label) { return mix64(key_of(label) + kGoldenGamma); }

  void prefetch(std::uint64_t hash) const {
    if (!keys_.empty()) __builtin_prefetch(&keys_[home(hash)]);
  }

  void insert(Label label, std::uint64_t hash) {
    const std::uint64_t key = key_of(label);
    if (key == 0) {
      has_zero_ = true;
      return;
    }
    if ((used_ + 1) * 5 > keys_.size() * 4) grow();
    const std::size_t slot = slot_for(key, hash);
    used_ += keys_[slot] == 0;
    keys_[slot] = key;
  }

  std::uint64_t memory() const { return keys_.size() * sizeof(std::uint64_t); }
  std::uint64_t size() const { return used_ + has_zero_; }

  // The set cannot be used until clear().
  void sort() {
    const auto end = std::remove(keys_.begin(), keys_.end(), std::uint64_t{0});
    std::sort(keys_.begin(), end);
  }
  void clear() {
    std::fill(keys_.begin(), keys_.end(), std::uint64_t{0});
    used_ = 0;
    has_zero_ = false;
  }

  // Over the labels of a sorted set.
  class Cursor {
   public:
    explicit Cursor(const IntegerSet& shard)
        : at_(shard.keys_.data()), end_(at_ + shard.used_), zero_(shard.has_zero_) {}
    bool at_end() const { return !zero_ && at_ == end_; }
    void next() { zero_ ? void(zero_ = false) : void(++at_); }
    bool before(const Cursor& other) const { return key() < other.key(); }
    std::uint64_t key() const { return zero_ ? 0 : *at_; }
    Label label() const { return label_of(key()); }
    void write(RunWriter& run) const {
      const std::uint64_t key = this->key();
      run.put(&key, sizeof key);
    }

   private:
    const std::uint64_t* at_;
    const std::uint64_t* end_;
    bool zero_;
  };

  // Over the labels of a run.
  class RunCursor {
   public:
    explicit RunCursor(RunReader reader) : reader_(std::move(reader)) { next(); }
    bool at_end() const { return end_; }
    void next() {
      end_ = reader_.at_end();
      if (!end_) std::memcpy(&key_, reader_.take(sizeof key_), sizeof key_);
    }
    bool before(const RunCursor& other) const { return key_ < other.key_; }
    Label label() const { return label_of(key_); }

   private:
    RunReader reader_;
    std::uint64_t key_ = 0;
    bool end_ = false;
  };

  // What the last label of a merge was, to leave out its repetitions.
  class Last {
   public:
    bool is(Label label) const { return any_ && label == label_; }
    void set(Label label) {
      any_ = true;
      label_ = label;
    }

   private:
    bool any_ = false;
    Label label_ = 0;
  };

 private:
  std::size_t home(std::uint64_t hash) const {
    // The shard was chosen by the first bits: the others choose the slot.
    return static_cast<std::size_t>(multiply_wide(hash << 8, keys_.size()).high);
  }
  std::size_t slot_for(std::uint64_t key, std::uint64_t hash) const {
    std::size_t slot = home(hash);
    while (keys_[slot] != 0 && keys_[slot] != key) slot = slot + 1 == keys_.size() ? 0 : slot + 1;
    return slot;
  }
  void grow() {
    // By half, when four fifths are full.
    std::vector<std::uint64_t> old(std::max<std::size_t>(64, keys_.size() + keys_.size() / 2), 0);
    old.swap(keys_);
    for (const std::uint64_t key : old) {
      if (key != 0) keys_[slot_for(key, mix64(key + kGoldenGamma))] = key;
    }
  }

  std::vector<std::uint64_t> keys_;  // 0: free
  std::size_t used_ = 0;
  bool has_zero_ = false;  // the key 0, that is the label -2^63
};

}  // namespace gz
