// Read-ahead for the length of a scan.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/file.h"

namespace gz {

// Asks for read-ahead on a part of the mapping while it lives.
class SequentialScan {
 public:
  SequentialScan(const MappedFile& mapping, const void* begin, std::uint64_t length)
      : mapping_(mapping),
        offset_(static_cast<std::uint64_t>(static_cast<const std::byte*>(begin) - mapping.data())),
        length_(length) {
    mapping_.advise(Advice::kSequential, offset_, length_);
  }
  ~SequentialScan() { mapping_.advise(Advice::kRandom, offset_, length_); }
  SequentialScan(const SequentialScan&) = delete;
  SequentialScan& operator=(const SequentialScan&) = delete;

 private:
  const MappedFile& mapping_;
  std::uint64_t offset_;
  std::uint64_t length_;
};

}  // namespace gz
