#include "core/pipeline/batch_memory.h"

#include <algorithm>
#include <utility>

namespace gz {

BatchMemory::~BatchMemory() {
  for (const MemoryBlock& block : idle_) take_back(block);
}

BatchMemory::Block BatchMemory::take(std::size_t bytes) {
  MemoryBlock block;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      block = idle_.back();
      idle_.pop_back();
    }
    ++num_out_;
    bytes_ -= block.bytes;
  }
  try {
    if (block.bytes < bytes || block.data == nullptr) {
      take_back(std::exchange(block, {}));
      // Batches differ in size by a few percent; the next one is to fit as well.
      block = hand_out(std::max<std::size_t>(bytes + bytes / 16, 1));
    }
    const std::lock_guard lock(mutex_);
    bytes_ += block.bytes;
  } catch (...) {
    const std::lock_guard lock(mutex_);
    --num_out_;
    throw;
  }
  const auto self = shared_from_this();
  return Block(static_cast<std::byte*>(block.data),
               [self, block](std::byte*) { self->give_back(block); });
}

void BatchMemory::give_back(MemoryBlock block) noexcept {
  // In a forked child, locks that threads of the parent held are taken for ever.
  if (process_ != process_id()) {
    take_back(block);
    return;
  }
  std::function<void()> on_return;
  {
    const std::lock_guard lock(mutex_);
    --num_out_;
    if (idle_.size() < keep_) {
      idle_.push_back(block);
    } else {
      bytes_ -= block.bytes;
      take_back(block);
    }
    on_return = on_return_;
  }
  if (on_return) on_return();
}

std::size_t BatchMemory::num_out() const {
  const std::lock_guard lock(mutex_);
  return num_out_;
}

std::size_t BatchMemory::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void BatchMemory::keep(std::size_t count) {
  const std::lock_guard lock(mutex_);
  keep_ = count;
  idle_.reserve(count);  // so that giving back needs no memory
}

void BatchMemory::set_on_return(std::function<void()> on_return) {
  const std::lock_guard lock(mutex_);
  on_return_ = std::move(on_return);
}

}  // namespace gz
