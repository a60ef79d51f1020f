#include "core/base/machine.h"

#include "core/base/error.h"

namespace gz {

void require_memory(std::uint64_t bytes, const std::string& job) {
  const std::uint64_t available = available_memory();
  if (bytes > available) {
    throw MemoryShortage(concat(job, " needs ", bytes >> 20, " MB of memory, ", available >> 20,
                                " MB are available"));
  }
}

}  // namespace gz
