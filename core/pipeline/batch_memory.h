// Memory that finished batches are handed out in, and that comes back when they are no longer used.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/base/pinning.h"
#include "core/base/process.h"
#include "core/base/recycled_memory.h"

namespace gz {

// Fresh pages cost more than filling them does, so blocks are used again. Always held by a
// shared_ptr: blocks that are out keep it alive. Any thread.
class BatchMemory : public std::enable_shared_from_this<BatchMemory> {
 public:
  using Block = std::shared_ptr<std::byte>;

  BatchMemory() = default;
  explicit BatchMemory(const Pinning& pinning) : pinning_(pinning) {}
  ~BatchMemory();

  Block take(std::size_t bytes);

  bool is_pinned() const { return pinning_.pin != nullptr; }

  struct Use {
    std::size_t num_out = 0;       // blocks
    std::size_t bytes = 0;         // out and idle
    std::size_t pinned_bytes = 0;  // of these
  };
  Use use() const;

  // At most `count` idle blocks are kept for the next take(); new ones have `block_bytes` at least,
  // if that is not 0, and those of more than twice that are not kept.
  void keep(std::size_t count, std::size_t block_bytes = 0);
  // Called on the thread that releases a block, with no lock held, when the block has come back. A
  // call may still arrive after it has been replaced, so it owns what it uses.
  void set_on_return(std::function<void()> on_return);

 private:
  struct Held {
    MemoryBlock block;
    bool pinned = false;
  };

  Held fresh(std::size_t bytes);
  void release(const Held& held) noexcept;
  void forget(const Held& held);
  void give_back(const Held& held) noexcept;

  const Pinning pinning_{};
  mutable std::mutex mutex_;
  std::vector<Held> idle_;
  std::size_t keep_ = 2;
  std::size_t block_bytes_ = 0;
  Use use_;
  std::function<void()> on_return_;
  const long process_ = process_id();
};

}  // namespace gz
