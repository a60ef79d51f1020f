// Text of any size cut into pieces of whole lines, so that many threads can parse it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/file.h"
#include "core/base/ordered_gate.h"

namespace gz {

// Bytes that can be read at any offset: a file, or a block of a stream.
class TextInput {
 public:
  virtual ~TextInput() = default;
  virtual const std::string& name() const = 0;  // opens error messages
  virtual std::uint64_t size() const = 0;
  // Fills `out` from byte `offset` on; the range lies inside the text.
  virtual void read(std::span<char> out, std::uint64_t offset) const = 0;
};

class FileText final : public TextInput {
 public:
  // What lies behind byte `end` is not looked at.
  explicit FileText(const std::string& path, std::uint64_t end = ~std::uint64_t{0})
      : file_(path), size_(std::min(end, file_.size())) {}
  const std::string& name() const override { return file_.path(); }
  std::uint64_t size() const override { return size_; }
  void read(std::span<char> out, std::uint64_t offset) const override {
    file_.read_exact_at(std::as_writable_bytes(out), offset);
  }

 private:
  File file_;
  std::uint64_t size_;
};

// Does not own the bytes.
class MemoryText final : public TextInput {
 public:
  MemoryText(std::string name, std::string_view text) : name_(std::move(name)), text_(text) {}
  const std::string& name() const override { return name_; }
  std::uint64_t size() const override { return text_.size(); }
  void read(std::span<char> out, std::uint64_t offset) const override {
    text_.copy(out.data(), out.size(), offset);
  }

 private:
  std::string name_;
  std::string_view text_;
};

// Whole lines, the last one with its newline unless the text ends without one. At least
// kReadableBeyond bytes behind `text` may be read (never trusted), so that a parser can load words.
inline constexpr std::size_t kReadableBeyond = 32;

struct TextPiece {
  std::size_t index = 0;  // 0, 1, 2 … in the order of the text
  std::string_view text;
  bool before_long_line = false;  // the line behind `text` is longer than what is read
};

// A line is held whole, so one without end would take all memory. Where `held` bytes of text are
// held at a time anyway, a line may be as long.
std::uint64_t longest_line(std::uint64_t held);
inline constexpr std::uint64_t kAnyLength = ~std::uint64_t{0};
// Throws the FormatError of a line that is longer than `longest`.
[[noreturn]] void refuse_long_line(const std::string& name, std::uint64_t line,
                                   std::uint64_t longest);

// Calls body(piece) for every piece of input[begin, size), on the caller's and the pool's threads.
// A piece is `piece_bytes` long, give or take a line; memory is that per thread. Lines of more than
// `longest` bytes are left out; the piece before one says so. Pieces are started in order, and the
// exception of the lowest one that throws reaches the caller.
void for_each_piece(const TextInput& input, std::uint64_t begin, std::size_t piece_bytes,
                    std::uint64_t longest, const std::function<void(const TextPiece&)>& body);

// Lets each piece know how many rows and lines all pieces before it hold, while they are parsed at
// the same time: publish() as soon as a piece is counted, then wait for the sums.
class PieceCounts {
 public:
  struct Counts {
    std::uint64_t rows = 0;
    std::uint64_t lines = 0;
  };

  // The sums over the pieces before `piece`. Throws OrderedGate::Abandoned if one of them failed.
  Counts publish(std::size_t piece, Counts own) {
    gate_.wait(piece);
    const Counts before = total_;
    total_.rows += own.rows;
    total_.lines += own.lines;
    gate_.pass(piece);
    return before;
  }
  // For a piece that failed, instead of publish(): the same sums, then nobody passes any more.
  Counts fail(std::size_t piece) {
    gate_.wait(piece);
    const Counts before = total_;
    gate_.abandon(piece);
    return before;
  }
  // The same without waiting.
  void abandon(std::size_t piece) { gate_.abandon(piece); }
  Counts total() const { return total_; }

 private:
  OrderedGate gate_;
  Counts total_;  // over the pieces that passed
};

}  // namespace gz
