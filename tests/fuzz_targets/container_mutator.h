// Changes containers where it hurts: fields of the header page and items of sections, with the
// checksums redone, since a wrong one would end every input at once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "core/base/checked.h"
#include "core/base/hash.h"
#include "core/format/container.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace gz::fuzz {

// Gives every section inside the file the checksum of its bytes, then the header its own.
inline void seal(std::span<std::byte> file) {
  if (file.size() < kPage) return;
  ContainerHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  for (std::size_t i = 0; i < std::min(header.num_sections, kMaxSections); ++i) {
    SectionEntry entry;
    std::byte* const at = file.data() + kTableOffset + i * sizeof entry;
    std::memcpy(&entry, at, sizeof entry);
    const auto end = checked_add(entry.offset, entry.length);
    if (!end || *end > file.size()) continue;
    entry.checksum = xxh64(file.subspan(entry.offset, entry.length));
    std::memcpy(at, &entry, sizeof entry);
  }
  header.header_checksum = 0;
  std::memcpy(file.data(), &header, sizeof header);
  header.header_checksum = xxh64(file.first(kPage));
  std::memcpy(file.data(), &header, sizeof header);
}

class ContainerMutator {
 public:
  ContainerMutator(std::span<std::byte> file, unsigned seed) : file_(file), random_(seed) {}

  void run() {
    // A header that is wrong hides all that is wrong behind it, and mutations pile up.
    switch (below(16)) {
      case 0:
        return change_header();
      case 1:
        return change_entry();
      default:
        return change_items();
    }
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  template <class Number>
  Number read(std::uint64_t at) const {
    Number number;
    std::memcpy(&number, file_.data() + at, sizeof number);
    return number;
  }

  // What goes wrong most: ends, neighbours of what is there, counts of the header, odd floats.
  template <class Number>
  void change_number(std::uint64_t at) {
    if (at + sizeof(Number) > file_.size()) return;
    auto number = read<Number>(at);
    switch (below(8)) {
      case 0:
        number = static_cast<Number>(below(9)) - 4;
        break;
      case 1:
        number = static_cast<Number>(below(2) == 0 ? number + 1 : number - 1);
        break;
      case 2:
        number = std::numeric_limits<Number>::max() - static_cast<Number>(below(2));
        break;
      case 3:
        number = std::numeric_limits<Number>::min() + static_cast<Number>(below(2));
        break;
      case 4:
        number = static_cast<Number>(number ^
                                     static_cast<Number>(Number{1} << below(8 * sizeof number)));
        break;
      case 5:  // a count of the header, or beside it
        number =
            static_cast<Number>(read<std::uint64_t>(kFieldsOffset + 8 * below(5)) + below(3) - 1);
        break;
      case 6: {
        constexpr float kFloats[] = {-1,
                                     -0.0F,
                                     1e38F,
                                     1e-45F,
                                     std::numeric_limits<float>::infinity(),
                                     std::numeric_limits<float>::quiet_NaN()};
        if constexpr (sizeof(Number) == 4) {
          number = std::bit_cast<Number>(kFloats[below(6)]);
        } else {
          number = std::bit_cast<Number>(static_cast<double>(kFloats[below(6)]));
        }
        break;
      }
      default:
        number = static_cast<Number>(random_());
    }
    std::memcpy(file_.data() + at, &number, sizeof number);
  }

  void change_header() {
    if (below(2) == 0) {
      change_number<std::uint64_t>(kFieldsOffset + 8 * below(8));
    } else {
      change_number<std::uint32_t>(4 * below(kTableOffset / 4));
    }
  }

  std::uint64_t random_entry() {
    const auto count =
        std::min(read<std::uint32_t>(offsetof(ContainerHeader, num_sections)), kMaxSections);
    return kTableOffset + below(std::max(count, 1U)) * sizeof(SectionEntry);
  }

  void change_entry() {
    const std::uint64_t entry = random_entry();
    if (below(2) == 0) {
      change_number<std::uint32_t>(entry + 4 * below(4));
    } else {
      change_number<std::uint64_t>(entry + 16 + 8 * below(3));
    }
  }

  void change_items() {
    const auto entry = read<SectionEntry>(random_entry());
    if (entry.length == 0 || entry.length > file_.size() ||
        entry.offset > file_.size() - entry.length)
      return change_header();
    for (std::uint64_t i = 0; i <= below(4); ++i) {
      switch (below(3)) {
        case 0:
          change_number<std::uint32_t>(entry.offset + below(entry.length) / 4 * 4);
          break;
        case 1:
          change_number<std::uint64_t>(entry.offset + below(entry.length) / 8 * 8);
          break;
        default:
          LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(file_.data()) + entry.offset,
                           entry.length, entry.length);
      }
    }
  }

  std::span<std::byte> file_;
  std::mt19937_64 random_;
};

// Now and then anything at all, and now and then without a checksum.
inline std::size_t mutate_container(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
  if (size < kPage || seed % 16 == 0) size = LLVMFuzzerMutate(data, size, max_size);
  const std::span file(reinterpret_cast<std::byte*>(data), size);
  if (size >= kPage && seed % 16 != 0) ContainerMutator(file, seed / 16).run();
  if (seed / 16 % 16 != 0) seal(file);
  return size;
}

}  // namespace gz::fuzz

// The hook of libFuzzer, once in each target that includes this.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return gz::fuzz::mutate_container(data, size, max_size, seed);
}
