#include "core/pipeline/batch_memory.h"

#include <algorithm>
#include <utility>

namespace gz {

BatchMemory::~BatchMemory() {
  for (const Held& held : idle_) release(held);
}

BatchMemory::Held BatchMemory::fresh(std::size_t bytes) {
  // Batches differ in size by a few percent; the next one is to fit as well. Pages of less are
  // shared with others, and only whole ones can be pinned.
  constexpr std::size_t kFewestPinned = 64 << 10;
  bytes = bytes <= block_bytes_ ? block_bytes_ : bytes + bytes / 16;
  bytes = std::max<std::size_t>(bytes, pinning_.pin != nullptr ? kFewestPinned : 1);
  Held held{hand_out(bytes)};
  held.pinned = pinning_.pin_block(held.block.data, held.block.bytes);
  const std::lock_guard lock(mutex_);
  use_.bytes += held.block.bytes;
  if (held.pinned) use_.pinned_bytes += held.block.bytes;
  return held;
}

// What it held is not counted any more.
void BatchMemory::release(const Held& held) noexcept {
  if (held.pinned) pinning_.unpin_block(held.block.data);
  take_back(held.block);
}

BatchMemory::Block BatchMemory::take(std::size_t bytes) {
  Held held;
  bool too_small = true;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      held = idle_.back();
      idle_.pop_back();
      too_small = held.block.bytes < bytes;
      if (too_small) forget(held);
    }
    ++use_.num_out;
  }
  if (too_small) {
    try {
      release(std::exchange(held, {}));
      held = fresh(bytes);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      --use_.num_out;
      throw;
    }
  }
  const auto self = shared_from_this();
  return Block(static_cast<std::byte*>(held.block.data),
               [self, held](std::byte*) { self->give_back(held); });
}

// Holds the lock.
void BatchMemory::forget(const Held& held) {
  use_.bytes -= held.block.bytes;
  if (held.pinned) use_.pinned_bytes -= held.block.bytes;
}

void BatchMemory::give_back(const Held& held) noexcept {
  // In a forked child, locks that threads of the parent held are taken for ever.
  if (process_ != process_id()) {
    take_back(held.block);
    return;
  }
  std::function<void()> on_return;
  bool kept = false;
  {
    const std::lock_guard lock(mutex_);
    --use_.num_out;
    // One that was made for a batch far larger than the others would stay so large.
    kept = idle_.size() < keep_ && (block_bytes_ == 0 || held.block.bytes / 2 <= block_bytes_);
    if (kept) {
      idle_.push_back(held);
    } else {
      forget(held);
    }
    on_return = on_return_;
  }
  if (!kept) release(held);
  if (on_return) on_return();
}

BatchMemory::Use BatchMemory::use() const {
  const std::lock_guard lock(mutex_);
  return use_;
}

void BatchMemory::keep(std::size_t count, std::size_t block_bytes) {
  const std::lock_guard lock(mutex_);
  keep_ = count;
  block_bytes_ = block_bytes;
  idle_.reserve(count);  // so that giving back needs no memory
}

void BatchMemory::set_on_return(std::function<void()> on_return) {
  const std::lock_guard lock(mutex_);
  on_return_ = std::move(on_return);
}

}  // namespace gz
