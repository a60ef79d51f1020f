// Sleeping until a word of memory changes. One implementation per system.
#pragma once

#include <atomic>
#include <cstdint>

namespace gz {

// Returns once `word` is not `value`, if wake_all() was called since it changed; at any time before
// that too.
void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value);
void wake_all(std::atomic<std::uint32_t>& word);

}  // namespace gz
