// A process among others: its number, its environment, its signals, its forks. One implementation
// per system.
#pragma once

#include <optional>
#include <string>

namespace gz {

// Differs between a process and a child it forked.
long process_id();

std::optional<std::string> environment_variable(const char* name);

// On this thread: signals belong to the application's threads, except those that a fault raises.
void leave_signals_to_others();

// What to call before a fork, and behind it in the parent and in the child; null for nothing.
// Windows forks nothing.
void at_fork(void (*before)(), void (*in_parent)(), void (*in_child)());

}  // namespace gz
