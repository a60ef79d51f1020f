// Asks the processor for a cache line that will be read soon.
#pragma once

namespace gz {

// Always inlined: GCC 12 takes a function of nothing but prefetches for one without effect, and
// drops the call. What wraps this must be inlined too.
[[gnu::always_inline]] inline void prefetch(const void* address) { __builtin_prefetch(address); }
[[gnu::always_inline]] inline void prefetch_to_write(const void* address) {
  __builtin_prefetch(address, 1);
}

}  // namespace gz
