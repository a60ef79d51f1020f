#include "core/convert/text_pieces.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/base/parallel.h"

namespace gz {
namespace {

// A buffer that grows without clearing what it will overwrite anyway.
class Buffer {
 public:
  std::span<char> resize(std::size_t size, std::size_t keep) {
    if (size + kReadableBeyond > capacity_) {
      capacity_ = size + size / 4 + kReadableBeyond;
      auto larger = std::make_unique_for_overwrite<char[]>(capacity_);
      if (keep > 0) std::memcpy(larger.get(), data_.get(), keep);
      data_ = std::move(larger);
    }
    std::memset(data_.get() + size, 0, kReadableBeyond);
    return {data_.get(), size};
  }

 private:
  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
};

thread_local Buffer piece_buffer;

// How far behind the nominal end of a piece its last line is looked for at first.
constexpr std::size_t kLineReserve = 4096;

}  // namespace

void for_each_piece(const TextInput& input, std::uint64_t begin, std::size_t piece_bytes,
                    const std::function<void(const TextPiece&)>& body) {
  const std::uint64_t size = input.size();
  if (begin >= size) return;
  const std::size_t num_pieces = static_cast<std::size_t>((size - begin - 1) / piece_bytes + 1);
  parallel_chunks(num_pieces, 1, [&](std::size_t i, std::size_t) {
    // A piece owns the lines that start inside [first, last). The byte before `first` tells whether
    // a line starts right there; the line that `last` cuts is read to its end.
    const std::uint64_t first = begin + i * std::uint64_t{piece_bytes};
    const std::uint64_t last = std::min<std::uint64_t>(first + piece_bytes, size);
    const std::uint64_t from = i == 0 ? first : first - 1;
    std::uint64_t to = std::min<std::uint64_t>(last + kLineReserve, size);
    std::span<char> text = piece_buffer.resize(static_cast<std::size_t>(to - from), 0);
    input.read(text, from);

    std::size_t start = 0;
    if (i > 0) {
      const void* const newline =
          std::memchr(text.data(), '\n', static_cast<std::size_t>(last - from));
      if (newline == nullptr) {
        body({i, {}});  // the inside of one long line, which the piece it started in reads
        return;
      }
      start = static_cast<std::size_t>(static_cast<const char*>(newline) - text.data()) + 1;
    }
    std::size_t end = static_cast<std::size_t>(last - from);
    // The line that holds byte last-1 belongs to us; unless it ends there, go on to its newline.
    while (start < end && end < size - from && text[end - 1] != '\n') {
      const std::size_t searched = end;
      const void* const newline = std::memchr(text.data() + searched, '\n', text.size() - searched);
      if (newline != nullptr) {
        end = static_cast<std::size_t>(static_cast<const char*>(newline) - text.data()) + 1;
        break;
      }
      end = text.size();
      if (to == size) break;
      const std::uint64_t more = std::min<std::uint64_t>(to + piece_bytes, size);
      text = piece_buffer.resize(static_cast<std::size_t>(more - from), end);
      input.read(text.subspan(end), to);
      to = more;
    }
    body(
        {i, start < end ? std::string_view(text.data() + start, end - start) : std::string_view()});
  });
}

}  // namespace gz
