#include "core/base/atomic_file.h"

#include "core/base/file.h"

namespace gz {

void AtomicFile::write_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  write_exact_at(file_, bytes, offset, path_);
}

void AtomicFile::read_at(std::span<std::byte> out, std::uint64_t offset) const {
  read_exact_at(file_, out, offset, path_);
}

}  // namespace gz
