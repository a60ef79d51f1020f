// What .gl and .gd have in common: a header page with a table of page-aligned, checksummed
// sections. docs/formats/container.md is the specification; the structs repeat its tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/types.h"

namespace gz {

using Magic = std::array<char, 8>;

inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::uint32_t kByteOrder = 0x01020304;  // reads as 0x04030201 on a foreign machine
inline constexpr std::size_t kFieldsOffset = 64;         // what .gl and .gd each fill in themselves
inline constexpr std::size_t kFieldsSize = 192;
inline constexpr std::size_t kTableOffset = kFieldsOffset + kFieldsSize;
inline constexpr std::uint32_t kMaxSections = 64;

struct ContainerHeader {
  Magic magic;
  std::uint32_t version;
  std::uint32_t byte_order;
  std::uint64_t header_checksum;  // of the whole page, with these eight bytes zero
  std::uint64_t file_size;
  std::uint32_t num_sections;
  std::uint32_t flags;
  std::array<std::uint8_t, 24> reserved;
};
static_assert(sizeof(ContainerHeader) == kFieldsOffset);
static_assert(offsetof(ContainerHeader, version) == 8);
static_assert(offsetof(ContainerHeader, byte_order) == 12);
static_assert(offsetof(ContainerHeader, header_checksum) == 16);
static_assert(offsetof(ContainerHeader, file_size) == 24);
static_assert(offsetof(ContainerHeader, num_sections) == 32);
static_assert(offsetof(ContainerHeader, flags) == 36);
static_assert(offsetof(ContainerHeader, reserved) == 40);

inline constexpr std::uint32_t kSectionRequired =
    1;  // a reader that does not know the kind must refuse

struct SectionEntry {
  std::uint32_t kind;
  std::uint32_t dtype;
  std::uint32_t flags;
  std::uint32_t reserved;
  std::uint64_t offset;
  std::uint64_t length;  // bytes of content; zeros follow up to the next page
  std::uint64_t checksum;
};
static_assert(sizeof(SectionEntry) == 40);
static_assert(offsetof(SectionEntry, dtype) == 4);
static_assert(offsetof(SectionEntry, flags) == 8);
static_assert(offsetof(SectionEntry, offset) == 16);
static_assert(offsetof(SectionEntry, length) == 24);
static_assert(offsetof(SectionEntry, checksum) == 32);
static_assert(kTableOffset + kMaxSections * sizeof(SectionEntry) <= kPage);

using HeaderPage = std::array<std::byte, kPage>;

// A section this version knows, proven to lie inside the file.
struct Section {
  std::uint32_t kind = 0;
  Dtype dtype = Dtype::kUint8;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t checksum = 0;
  std::uint64_t entry = 0;  // the byte of the header page where its table entry starts
};

// A header page that has been proven right, except for the bytes between kFieldsOffset and
// kTableOffset, which belong to the format on top.
struct Container {
  HeaderPage page;
  std::uint32_t flags = 0;
  std::uint64_t fingerprint = 0;  // the header checksum: it covers every section's checksum
  std::uint64_t file_size = 0;
  std::vector<Section> sections;  // by offset; those of unknown, optional kind included

  // Null if there is no section of this kind.
  const Section* find(std::uint32_t kind) const;
};

// The kinds a format knows are those for which `is_known` says so. Costs O(1) time and memory
// whatever the file claims. Throws FormatError.
Container read_container(const File& file, const Magic& magic,
                         bool (*is_known)(std::uint32_t kind));

// The first eight bytes of a file, or empty if it is shorter.
std::optional<Magic> read_magic(const File& file);

// "bad WHAT at byte AT: expected EXPECTED, found FOUND", the form of every message about a field.
[[noreturn]] void refuse_field(const std::string& path, const std::string& what, std::uint64_t at,
                               const std::string& expected, const std::string& found);

// What is wrong with a header, refused by refuse_field(). Holds a reference to the path.
struct HeaderChecks {
  const std::string& path;

  template <class Expected, class Found>
  void expect(bool holds, const std::string& what, std::uint64_t at, const Expected& expected,
              const Found& found) const {
    if (!holds) refuse_field(path, what, at, concat(expected), concat(found));
  }
  // Bytes begin … end-1 are reserved.
  void expect_zeros(const HeaderPage& page, std::size_t begin, std::size_t end) const;
  void expect_dtype(const Section& section, const std::string& name, Dtype dtype) const;
  // `expected` says so in the message. No length: the one that there should be cannot exist.
  void expect_length(const Section& section, const std::string& name,
                     std::optional<std::uint64_t> length, const std::string& expected) const;
};

}  // namespace gz
