#include "core/base/word_wait.h"

#include <windows.h>

namespace gz {

// Not std::atomic's own: that of GCC 12's library loses calls here, and threads sleep for ever.
void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value) {
  static_assert(sizeof word == sizeof value);
  ::WaitOnAddress(const_cast<std::atomic<std::uint32_t>*>(&word), &value, sizeof value, INFINITE);
}

void wake_all(std::atomic<std::uint32_t>& word) { ::WakeByAddressAll(&word); }

}  // namespace gz
