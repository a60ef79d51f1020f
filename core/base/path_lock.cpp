#include "core/base/path_lock.h"

#include <chrono>
#include <thread>

#include "core/base/error.h"
#include "core/base/parallel.h"

namespace gz {
namespace {

constexpr auto kLookAgain = std::chrono::milliseconds(5);

}  // namespace

PathLock::PathLock(const std::string& path, bool wait) {
  try {
    lock_ = try_lock(path);
  } catch (const IoError&) {
    if (wait) throw;
  }
  while (wait && lock_ == kNoFile) {
    std::this_thread::sleep_for(kLookAgain);
    check_interrupt();
    lock_ = try_lock(path);
  }
}

}  // namespace gz
