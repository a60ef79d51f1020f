#include "core/base/fault_guard.h"

#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "core/base/fault_slots.h"
#include "core/base/memory_pages.h"

namespace gz {
namespace {

std::atomic<FaultSlot*> slots{nullptr};

FaultSlot* take_slot() {
  for (FaultSlot* slot = slots.load(); slot != nullptr; slot = slot->next) {
    bool expected = false;
    if (slot->taken.compare_exchange_strong(expected, true)) return slot;
  }
  auto* slot = new FaultSlot;
  slot->taken = true;
  slot->next = slots.load();
  while (!slots.compare_exchange_weak(slot->next, slot)) {
  }
  return slot;
}

void check_slot(const FaultSlot& slot) {
  const std::int64_t now = size_of_file(slot.file);
  if (now < 0) {
    const int code = static_cast<int>(-now);
    throw IoError(code, slot.name, concat("cannot stat: ", std::strerror(code)));
  }
  if (static_cast<std::uint64_t>(now) < slot.size) {
    throw IoError(
        EIO, slot.name,
        concat("the file shrank while it was mapped: expected ", slot.size, " bytes, found ", now,
               "; write files anew beside the old one instead of truncating them"));
  }
  if (slot.broken.load()) {
    throw IoError(EIO, slot.name,
                  "a page of the mapped file could not be read (it shrank, or the device failed)");
  }
}

}  // namespace

FaultSlot* find_fault_slot(std::uintptr_t address) {
  for (FaultSlot* slot = slots.load(); slot != nullptr; slot = slot->next) {
    const std::uintptr_t begin = slot->begin.load();
    if (begin != 0 && address >= begin && address < slot->end.load()) return slot;
  }
  return nullptr;
}

void break_slot(FaultSlot& slot) {
  if (slot.broken.exchange(true)) return;
  say_in_handler("graphzero: ");
  say_in_handler(slot.name);
  say_in_handler(": the mapped file shrank or could not be read; views of it now hold zeros\n");
}

FaultGuard::FaultGuard(std::byte* data, std::size_t length, bool writable, FileHandle file,
                       const char* name)
    : slot_(take_slot()) {
  catch_faults();
  const std::size_t page = machine_page();
  slot_->broken = false;
  slot_->size = length;
  slot_->writable = writable;
  slot_->file = file;
  slot_->name = name;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  slot_->end = begin + (length + page - 1) / page * page;
  slot_->begin = begin;  // last: from here on the handler may use the slot
}

FaultGuard::~FaultGuard() {
  slot_->begin = 0;
  slot_->taken = false;
}

void FaultGuard::check_intact() const { check_slot(*slot_); }

void FaultGuard::check_intact_at(const void* address) {
  const auto* const slot = find_fault_slot(reinterpret_cast<std::uintptr_t>(address));
  if (slot != nullptr) check_slot(*slot);
}

}  // namespace gz
