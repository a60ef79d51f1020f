// Memory that a device reads by itself: its driver has to know of it.
#pragma once

#include <cstddef>

namespace gz {

// Functions of the CUDA driver (cuCtxSetCurrent, cuMemHostRegister, cuMemHostUnregister), which
// the caller looks up: nothing here is linked with it. Without them nothing is pinned.
struct Pinning {
  int (*set_context)(void* context) = nullptr;
  int (*pin)(void* data, std::size_t bytes, unsigned flags) = nullptr;
  int (*unpin)(void* data) = nullptr;
  void* context = nullptr;

  // Whether it worked. If it did not, the device's copies are slower and as right. Any thread.
  bool pin_block(void* data, std::size_t bytes) const {
    constexpr unsigned kPortable = 1;  // for all contexts
    return pin != nullptr && set_context(context) == 0 && pin(data, bytes, kPortable) == 0;
  }
  void unpin_block(void* data) const {
    if (set_context(context) == 0) unpin(data);
  }
};

}  // namespace gz
