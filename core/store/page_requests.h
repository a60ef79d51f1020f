// Asks the kernel for pages of mapped files before they are read, many at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/file.h"
#include "core/base/types.h"

namespace gz {

// touch() what will be read, in rising order; neighbouring ranges become one request. The last one
// is made by the destructor. For reads in any order see request_scattered().
class PageRequests {
 public:
  // Reading 16 kB more costs a device less than another request. Where most pages are read anyway
  // that is a gain; where they are scattered, a gap of 0 reads nothing in vain.
  static constexpr std::uint64_t kUsualGap = 16 << 10;

  explicit PageRequests(std::uint64_t gap = kUsualGap) : gap_(gap) {}
  ~PageRequests() { flush(); }
  PageRequests(const PageRequests&) = delete;
  PageRequests& operator=(const PageRequests&) = delete;

  void touch(const void* data, std::size_t size) {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    if (begin > end_ + gap_) {
      flush();
      begin_ = begin / kPage * kPage;
    }
    end_ = std::max(end_, (begin + size + kPage - 1) / kPage * kPage);
  }

 private:
  // The kernel cuts a request to the read-ahead size of the device (128 kB where nobody set it) and
  // forgets the rest, without an error.
  static constexpr std::uint64_t kMost = 128 << 10;

  void flush() {
    for (; end_ > begin_; begin_ += std::min<std::uint64_t>(kMost, end_ - begin_))
      advise_memory(Advice::kWillNeed, reinterpret_cast<const std::byte*>(begin_),
                    std::min<std::uint64_t>(kMost, end_ - begin_));
  }

  std::uint64_t gap_;
  std::uintptr_t begin_ = 0;
  std::uintptr_t end_ = 0;
};

// Requests the pages of `addresses`, which may come in any order and are sorted here, and no other
// page. Null ones are skipped. An item at an address does not cross a page: items are aligned to
// their size.
inline void request_scattered(std::vector<const void*>& addresses) {
  std::sort(addresses.begin(), addresses.end());
  PageRequests pages(0);
  for (const void* const address : addresses) {
    if (address != nullptr) pages.touch(address, 1);
  }
}

}  // namespace gz
