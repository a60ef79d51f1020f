// Objects that threads borrow while they work, one each, made on demand.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace gz {

template <class Item>
class ObjectPool {
 public:
  // One that was given back, or what `make` returns.
  template <class Make>
  std::unique_ptr<Item> borrow(const Make& make) {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto item = std::move(idle_.back());
        idle_.pop_back();
        return item;
      }
    }
    return make();
  }

  void give_back(std::unique_ptr<Item> item) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(item));
  }

  // All that were given back.
  std::vector<std::unique_ptr<Item>> take_all() {
    const std::lock_guard lock(mutex_);
    return std::exchange(idle_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Item>> idle_;
};

}  // namespace gz
