// Two ways to ask for what a group of reads will need, before the first of them.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/file.h"
#include "core/base/prefetch.h"
#include "core/store/page_requests.h"

namespace gz {

// The file is in memory: bring cache lines closer, so that a group waits for all of them at once.
class CacheLines {
 public:
  static constexpr bool kPages = false;
  CacheLines() = default;
  explicit CacheLines(const MappedFile&) {}
  [[gnu::always_inline]] void want(const void* address) { prefetch(address); }
  void flush() {}
};

// It is not: have the device read all pages of the group side by side. What lies outside the
// mapping, such as sums that were built in memory, is not its business.
class Pages {
 public:
  static constexpr bool kPages = true;
  explicit Pages(const MappedFile& mapping) : mapping_(mapping) {}
  void want(const void* address) {
    const auto* const byte = static_cast<const std::byte*>(address);
    if (byte >= mapping_.data() && byte < mapping_.data() + mapping_.size())
      addresses_.push_back(address);
  }
  void flush() {
    request_scattered(addresses_);
    addresses_.clear();
  }

 private:
  const MappedFile& mapping_;
  std::vector<const void*> addresses_;
};

}  // namespace gz
