// The ranges that FaultGuards watch, as the handler of faults sees them.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/file_handle.h"

namespace gz {

// Slots form a list that only grows and are reused, so that the handler can walk it without a lock
// and a forked child inherits it in a usable state.
struct FaultSlot {
  std::atomic<std::uintptr_t> begin{0};  // 0: free
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> taken{false};
  std::atomic<bool> broken{false};
  std::uint64_t size = 0;
  bool writable = false;
  FileHandle file = kNoFile;
  const char* name = "";
  FaultSlot* next = nullptr;
};

// The one that `address` lies in, or null. Safe in a handler.
FaultSlot* find_fault_slot(std::uintptr_t address);

// Makes the handler the first to see faults, if it is not. Called at every mapping: a library that
// installed its own since then (PyTorch does in its data-loader workers) becomes the one that
// faults of others are passed on to. One implementation per system.
void catch_faults();

// Writes to standard error, with what is safe in a handler. One implementation per system.
void say_in_handler(const char* text);

// Marks the slot as broken and says so, once.
void break_slot(FaultSlot& slot);

}  // namespace gz
