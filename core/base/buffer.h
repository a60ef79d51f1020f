// A growing array that is not zeroed first: results of unknown length are written once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "core/base/machine.h"
#include "core/base/recycled_memory.h"

namespace gz {

// Growth beyond kAskFrom bytes asks the machine first: a sample that cannot fit throws
// MemoryShortage instead of waking the kernel's OOM killer.
template <class Item>
class Buffer {
  static_assert(std::is_trivially_copyable_v<Item> && std::is_trivially_destructible_v<Item>);

 public:
  Buffer() = default;
  ~Buffer() { take_back(block_); }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Item* data() const { return static_cast<Item*>(block_.data); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Item* begin() const { return data(); }
  Item* end() const { return data() + size_; }
  Item& operator[](std::size_t i) const { return data()[i]; }
  std::span<const Item> span() const { return {data(), size_}; }

  void clear() { size_ = 0; }

  void reserve(std::size_t count) {
    if (count > block_.bytes / sizeof(Item)) grow(count);
  }

  // Room for `count` more items at the end, not yet set.
  Item* extend(std::size_t count) {
    reserve(size_ + count);
    Item* const added = data() + size_;
    size_ += count;
    return added;
  }

  void push_back(Item item) { *extend(1) = item; }

  // push_back() for which room has been made.
  void push_reserved(Item item) { data()[size_++] = item; }

  // Drops items from the end.
  void shrink(std::size_t size) { size_ = size; }

 private:
  static constexpr std::size_t kAskFrom = std::size_t{64} << 20;

  void swap(Buffer& other) {
    std::swap(block_, other.block_);
    std::swap(size_, other.size_);
  }

  [[gnu::noinline]] void grow(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / 4 / sizeof(Item)) throw std::bad_alloc();
    const std::size_t bytes =
        std::max({count * sizeof(Item), block_.bytes + block_.bytes / 2, std::size_t{512}});
    if (bytes >= kAskFrom) require_memory(bytes - block_.bytes, "holding a sample");
    const MemoryBlock larger = hand_out(bytes);
    if (size_ > 0) std::memcpy(larger.data, block_.data, size_ * sizeof(Item));
    take_back(block_);
    block_ = larger;
  }

  MemoryBlock block_;
  std::size_t size_ = 0;
};

}  // namespace gz
