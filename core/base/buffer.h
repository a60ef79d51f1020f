// A growing array that is not zeroed first: results of unknown length are written once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "core/base/machine.h"

namespace gz {

// Growth beyond kAskFrom bytes asks the machine first: a sample that cannot fit throws
// MemoryShortage instead of waking the kernel's OOM killer.
template <class Item>
class Buffer {
  static_assert(std::is_trivially_copyable_v<Item> && std::is_trivially_destructible_v<Item>);

 public:
  Buffer() = default;
  ~Buffer() { std::free(data_); }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Item* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Item* begin() const { return data_; }
  Item* end() const { return data_ + size_; }
  Item& operator[](std::size_t i) const { return data_[i]; }
  std::span<const Item> span() const { return {data_, size_}; }

  void clear() { size_ = 0; }

  void reserve(std::size_t count) {
    if (count > capacity_) grow(count);
  }

  // Room for `count` more items at the end, not yet set.
  Item* extend(std::size_t count) {
    reserve(size_ + count);
    Item* const added = data_ + size_;
    size_ += count;
    return added;
  }

  void push_back(Item item) { *extend(1) = item; }

  // Drops items from the end.
  void shrink(std::size_t size) { size_ = size; }

  // The memory, which the caller now frees with std::free. Null if nothing was ever stored.
  Item* release() {
    size_ = capacity_ = 0;
    return std::exchange(data_, nullptr);
  }

 private:
  static constexpr std::size_t kAskFrom = std::size_t{64} << 20;

  void swap(Buffer& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  void grow(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / 2 / sizeof(Item)) throw std::bad_alloc();
    const std::size_t capacity = std::max({count, capacity_ + capacity_ / 2, std::size_t{64}});
    const std::size_t bytes = capacity * sizeof(Item);
    if (bytes >= kAskFrom) require_memory(bytes - capacity_ * sizeof(Item), "holding a sample");
    void* const moved = std::realloc(data_, bytes);
    if (moved == nullptr) throw std::bad_alloc();
    data_ = static_cast<Item*>(moved);
    capacity_ = capacity;
  }

  Item* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace gz
