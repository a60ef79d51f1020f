// Waiting for what comes in microseconds.
#pragma once

#include <thread>

namespace gz {

// Looks whether done() for some 50 microseconds, which is what it takes to fall asleep and wake up,
// and returns whether it was. A core that others want is given away meanwhile.
template <class Done>
bool spin_until(const Done& done) {
  constexpr int kLooks = 64;
  constexpr int kYields = 64;
  for (int i = 0; i < kLooks; ++i) {
    if (done()) return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  for (int i = 0; i < kYields; ++i) {
    if (done()) return true;
    std::this_thread::yield();
  }
  return done();
}

}  // namespace gz
