#include "core/base/word_wait.h"

namespace gz {

void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value) { word.wait(value); }

void wake_all(std::atomic<std::uint32_t>& word) { word.notify_all(); }

}  // namespace gz
