// Asks the kernel for pages of a mapping before they are read, many at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/file.h"
#include "core/base/types.h"

namespace gz {

// touch() what will be read, in rising order; neighbouring ranges become one request. The last one
// is made by the destructor.
class PageRequests {
 public:
  explicit PageRequests(const MappedFile& mapping) : mapping_(mapping) {}
  ~PageRequests() { flush(); }
  PageRequests(const PageRequests&) = delete;
  PageRequests& operator=(const PageRequests&) = delete;

  void touch(const void* data, std::size_t size) {
    const auto begin =
        static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - mapping_.data());
    if (begin > end_ + kGap) {
      flush();
      begin_ = begin / kPage * kPage;
      end_ = begin_;
    }
    end_ = std::max(end_, begin + size);
  }

 private:
  // Reading 16 kB more costs a device less than another request.
  static constexpr std::uint64_t kGap = 16 << 10;
  // The kernel cuts a request to the read-ahead size of the device (128 kB where nobody set it) and
  // forgets the rest, without an error.
  static constexpr std::uint64_t kMost = 128 << 10;

  void flush() {
    for (; end_ > begin_; begin_ += std::min(kMost, end_ - begin_))
      mapping_.advise(Advice::kWillNeed, begin_, std::min(kMost, end_ - begin_));
  }

  const MappedFile& mapping_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace gz
