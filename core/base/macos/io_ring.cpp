#include "core/base/io_ring.h"

#include <cerrno>

#include "core/base/error.h"

namespace gz {

// No other function is called: there is no ring.
struct IoRing::State {};

IoRing::IoRing(unsigned /*entries*/) {
  throw IoError(ENOTSUP, "asynchronous reads", "cannot set up a ring: macOS has none");
}
IoRing::~IoRing() = default;
void IoRing::register_memory(std::span<std::byte> /*memory*/) {}
void IoRing::register_file(FileHandle /*file*/) {}
void IoRing::read(FileHandle /*file*/, std::byte* /*into*/, unsigned /*length*/,
                  std::uint64_t /*offset*/, std::uint64_t /*tag*/) {}
std::size_t IoRing::wait(std::span<Done> /*done*/, std::size_t /*at_least*/) { return 0; }

}  // namespace gz
