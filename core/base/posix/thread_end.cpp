// Compiled without exceptions: then pthread_cleanup_push is a jump back into this frame, as in C.
// With exceptions it is a destructor, and `catch (...)` would do as well, but only where the C++
// library unwinds with the libgcc_s that glibc loads for pthread_exit. That of a wheel is LLVM's,
// linked into the module: it does not understand libgcc_s, and the process ends with SIGSEGV.
#include "core/base/thread_end.h"

#include <pthread.h>
#include <unistd.h>

namespace gz {

namespace {

void sleep_for_ever(void*) {
  while (true) ::pause();
}

}  // namespace

void call_without_ending(void (*function)(void*), void* argument) {
  pthread_cleanup_push(sleep_for_ever, nullptr);
  function(argument);
  pthread_cleanup_pop(0);
}

}  // namespace gz
