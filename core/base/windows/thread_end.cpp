#include "core/base/thread_end.h"

namespace gz {

// A thread of Windows ends without a look at its stack: nothing of ours runs any more.
void call_without_ending(void (*function)(void*), void* argument) { function(argument); }

}  // namespace gz
