// Calls that may end their thread. One implementation per system.
#pragma once

namespace gz {

// Calls `function`, of a library in C, with `argument`. If it ends the thread by pthread_exit, the
// thread sleeps here instead until the process is gone, and its frames stay.
void call_without_ending(void (*function)(void*), void* argument);

}  // namespace gz
