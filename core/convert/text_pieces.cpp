#include "core/convert/text_pieces.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "core/base/parallel.h"

namespace gz {
namespace {

// A buffer that grows without clearing what it will overwrite anyway.
class Buffer {
 public:
  std::span<char> resize(std::size_t size, std::size_t keep) {
    if (size + kReadableBeyond > capacity_) {
      capacity_ = size + std::min<std::size_t>(size / 4, 1 << 20) + kReadableBeyond;
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

constexpr std::uint64_t kLongestLine = 16 << 20;

// Where the line that goes on at `at` ends, its newline included; nothing if that is beyond `last`.
std::optional<std::uint64_t> end_of_line(const TextInput& input, std::uint64_t at,
                                         std::uint64_t last) {
  std::vector<char> window(64 << 10);
  while (at < input.size()) {
    if (at > last) return std::nullopt;
    const std::uint64_t rest = input.size() - at;
    const auto window_bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(window.size(), rest));
    const std::span<char> text = std::span(window).first(window_bytes);
    input.read(text, at);
    if (const void* const newline = std::memchr(text.data(), '\n', text.size())) {
      at += static_cast<std::uint64_t>(static_cast<const char*>(newline) - text.data()) + 1;
      break;
    }
    at += text.size();
  }
  return at > last ? std::nullopt : std::optional(at);
}

}  // namespace

std::uint64_t longest_line(std::uint64_t held) { return std::max(held, kLongestLine); }

void refuse_long_line(const std::string& name, std::uint64_t line, std::uint64_t longest) {
  throw FormatError(
      name, "line ", line, ": expected lines of at most ", longest >> 20,
      " MB, found a longer one; is it text? Cut such lines first, or give more memory=");
}

void for_each_piece(const TextInput& input, std::uint64_t begin, std::size_t piece_bytes,
                    std::uint64_t longest, const std::function<void(const TextPiece&)>& body) {
  const std::uint64_t size = input.size();
  if (begin >= size) return;
  const std::size_t num_pieces = static_cast<std::size_t>((size - begin - 1) / piece_bytes + 1);
  parallel_chunks(num_pieces, 1, [&](std::size_t i, std::size_t) {
    // A piece owns the lines that start inside [first, last). The byte before `first` tells whether
    // a line starts right there; the line that `last` cuts is read to its end.
    const std::uint64_t first = begin + i * std::uint64_t{piece_bytes};
    const std::uint64_t last = std::min<std::uint64_t>(first + piece_bytes, size);
    const std::uint64_t from = i == 0 ? first : first - 1;
    const std::uint64_t to = std::min<std::uint64_t>(last + kLineReserve, size);
    std::span<char> text = piece_buffer.resize(static_cast<std::size_t>(to - from), 0);
    input.read(text, from);

    std::size_t start = 0;
    if (i > 0) {
      const void* const newline =
          std::memchr(text.data(), '\n', static_cast<std::size_t>(last - from));
      if (newline == nullptr) {
        body({i, {}, false});  // the inside of one long line, which the piece it started in reads
        return;
      }
      start = static_cast<std::size_t>(static_cast<const char*>(newline) - text.data()) + 1;
    }
    std::size_t end = static_cast<std::size_t>(last - from);
    // The line that holds byte last-1 belongs to us; unless it ends there, go on to its newline.
    bool before_long_line = false;
    if (start < end && end < size - from && text[end - 1] != '\n') {
      const void* const newline = std::memchr(text.data() + end, '\n', text.size() - end);
      if (newline != nullptr) {
        end = static_cast<std::size_t>(static_cast<const char*>(newline) - text.data()) + 1;
      } else if (to == size) {
        end = text.size();
      } else {
        // Seldom: its end is looked for first, so that it is read into memory once, or not at all.
        const std::string_view own(text.data() + start, end - start);
        const std::size_t line = start + own.rfind('\n') + 1;  // npos + 1 is 0
        const std::uint64_t room = size - from - line;         // with a newline that does not count
        const auto stop = end_of_line(input, to, longest < room ? from + line + longest + 1 : size);
        before_long_line = !stop;
        end = stop ? static_cast<std::size_t>(*stop - from) : line;
        if (stop) {
          const std::size_t read = text.size();
          text = piece_buffer.resize(end, read);
          input.read(text.subspan(read), to);
        }
      }
    }
    body({i, start < end ? std::string_view(text.data() + start, end - start) : std::string_view(),
          before_long_line});
  });
}

}  // namespace gz
