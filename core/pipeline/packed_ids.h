// Ids that wait for their turn in half the memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "core/base/buffer.h"

namespace gz {

// 4 bytes each while all of them fit.
class PackedIds {
 public:
  PackedIds() = default;
  explicit PackedIds(std::span<const std::int64_t> ids) {
    std::uint64_t all = 0;
    for (const std::int64_t id : ids) all |= static_cast<std::uint64_t>(id);
    if (all <= std::numeric_limits<std::uint32_t>::max()) {
      std::transform(ids.begin(), ids.end(), narrow_.extend(ids.size()),
                     [](std::int64_t id) { return static_cast<std::uint32_t>(id); });
    } else {
      std::copy(ids.begin(), ids.end(), wide_.extend(ids.size()));
    }
  }

  std::size_t size() const { return narrow_.size() + wide_.size(); }
  std::size_t bytes() const { return 4 * narrow_.size() + 8 * wide_.size(); }

  // Ids begin … begin+out.size()-1.
  void unpack(std::size_t begin, std::span<std::int64_t> out) const {
    if (!wide_.empty()) {
      std::copy_n(wide_.data() + begin, out.size(), out.begin());
    } else {
      std::copy_n(narrow_.data() + begin, out.size(), out.begin());
    }
  }

  Buffer<std::int64_t> unpack() const {
    Buffer<std::int64_t> ids;
    unpack(0, {ids.extend(size()), size()});
    return ids;
  }

 private:
  Buffer<std::uint32_t> narrow_;
  Buffer<std::int64_t> wide_;
};

}  // namespace gz
