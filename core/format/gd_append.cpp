#include "core/format/gd_append.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/checked.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/format/gd.h"

namespace gz {
namespace {

// Stays in the cache between read, both checksums and write, and is written without another copy.
constexpr std::uint64_t kBlock = 4 << 20;

void check_bools(const File& file, std::span<const std::byte> items, std::uint64_t first) {
  const auto wrong =
      std::find_if(items.begin(), items.end(), [](std::byte item) { return item > std::byte{1}; });
  if (wrong == items.end()) return;
  throw FormatError(file.path(), "bool items are 0 or 1: item ",
                    first + static_cast<std::uint64_t>(wrong - items.begin()),
                    ": expected 0 or 1, found ", std::to_integer<int>(*wrong));
}

void check_scales(const File& file, std::span<const float> scales, std::uint64_t first) {
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (std::isfinite(scales[i]) && scales[i] >= 0) continue;
    throw FormatError(file.path(), "scales are finite and not negative: row ", first + i,
                      ": expected a finite number that is not negative, found ", scales[i]);
  }
}

class Appending {
 public:
  Appending(GdWriter& writer, const File& file)
      : writer_(writer), file_(file), layout_(read_gd(file)), block_(kBlock / sizeof(float)) {}

  void run() {
    if (layout_.scale_offset) writer_.append_scales({});  // also of an array without rows
    if (layout_.sections.empty()) {
      read({kGdData, layout_.dtype, layout_.data_offset, layout_.data_length});
      return;
    }
    for (const Section& section : layout_.sections) {
      const std::uint64_t found = read(section);
      if (found != section.checksum) {
        throw FormatError(file_.path(), "checksum of ", gd_section_name(section.kind),
                          ": expected ", section.checksum, ", found ", found,
                          ": the bytes changed since they were written");
      }
      check_zeros(section.offset + section.length);
    }
  }

 private:
  std::span<std::byte> room(std::uint64_t length) {
    return std::as_writable_bytes(std::span(block_)).first(static_cast<std::size_t>(length));
  }

  // Returns the checksum.
  std::uint64_t read(const Section& section) {
    Xxh64 checksum;
    for (std::uint64_t done = 0; done < section.length; done += kBlock) {
      const auto part = room(std::min(kBlock, section.length - done));
      file_.read_exact_at(part, section.offset + done);
      checksum.update(part);
      take(section.kind, part, done);
      file_.done_before(section.offset + done + part.size());
    }
    return checksum.digest();
  }

  void take(std::uint32_t kind, std::span<const std::byte> part, std::uint64_t begin) {
    if (kind == kGdData) {
      if (layout_.dtype == Dtype::kBool) check_bools(file_, part, begin);
      writer_.append(part);
    } else if (kind == kGdScale) {
      const auto scales = std::span<const float>(block_).first(part.size() / sizeof(float));
      check_scales(file_, scales, begin / sizeof(float));
      writer_.append_scales(scales);
    }
  }

  void check_zeros(std::uint64_t begin) {
    const auto part = room(*checked_round_up(begin, kPage) - begin);
    file_.read_exact_at(part, begin);
    const auto found =
        std::find_if(part.begin(), part.end(), [](std::byte byte) { return byte != std::byte{0}; });
    if (found == part.end()) return;
    throw FormatError(file_.path(), "zeros between the sections: byte ",
                      begin + static_cast<std::uint64_t>(found - part.begin()), " is not zero");
  }

  GdWriter& writer_;
  const File& file_;
  GdLayout layout_;
  std::vector<float> block_;  // aligned for scales
};

}  // namespace

void append_file(GdWriter& writer, const File& file) { Appending(writer, file).run(); }

}  // namespace gz
