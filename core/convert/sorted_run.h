// A sorted sequence on disk: written once, read once, both front to back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "core/base/temporary_file.h"

namespace gz {

// Reads a part of a temporary file front to back through a buffer.
class RunReader {
 public:
  RunReader(const TemporaryFile& file, std::uint64_t begin, std::uint64_t end, std::size_t buffer)
      : file_(&file), position_(begin), end_(end), least_(buffer) {}

  bool at_end() const { return used_ == buffer_.size() && position_ == end_; }

  // The next `count` bytes, valid until the next call. The run must have them.
  const std::byte* take(std::size_t count) {
    if (buffer_.size() - used_ < count) refill(count);
    const std::byte* const at = buffer_.data() + used_;
    used_ += count;
    return at;
  }

 private:
  void refill(std::size_t count) {
    const std::size_t left = buffer_.size() - used_;
    const auto size = static_cast<std::size_t>(
        std::min<std::uint64_t>(left + (end_ - position_), std::max(least_, count)));
    // Into fresh memory only where it must grow: buffers of a long merge stay where they are.
    if (left > 0) std::memmove(buffer_.data(), buffer_.data() + used_, left);
    buffer_.resize(size);
    file_->read_exact_at(std::span(buffer_).subspan(left), position_);
    position_ += size - left;
    used_ = 0;
  }

  const TemporaryFile* file_;
  std::uint64_t position_;
  std::uint64_t end_;
  std::size_t least_;
  std::vector<std::byte> buffer_;
  std::size_t used_ = 0;
};

// Collects bytes for one run and appends them to a file in large pieces that follow each other, as
// long as nobody else appends.
class RunWriter {
 public:
  RunWriter(TemporaryFile& file, std::size_t buffer)
      : file_(file), limit_(buffer), begin_(file.size()) {
    pending_.reserve(buffer);
  }
  void put(const void* data, std::size_t size) {
    if (pending_.size() + size > limit_) flush();
    if (size > limit_) {
      file_.append({static_cast<const std::byte*>(data), size});
    } else {
      const auto* const at = static_cast<const std::byte*>(data);
      pending_.insert(pending_.end(), at, at + size);
    }
  }
  std::pair<std::uint64_t, std::uint64_t> finish() {
    flush();
    return {begin_, file_.size()};
  }

 private:
  void flush() {
    if (!pending_.empty()) file_.append(pending_);
    pending_.clear();
  }

  TemporaryFile& file_;
  std::size_t limit_;
  std::uint64_t begin_;
  std::vector<std::byte> pending_;
};

}  // namespace gz
