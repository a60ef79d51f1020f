#include "core/format/container.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/base/checked.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/format/header_page.h"

namespace gz {
namespace {

// cmake/machine.cmake refuses other machines with a sentence; this is for builds without it.
static_assert(std::endian::native == std::endian::little, "files are mapped as they are on disk");
static_assert(sizeof(void*) == 8, "files of any size are mapped whole");

// A mapping of 2^63 bytes or more cannot be addressed.
constexpr std::uint64_t kMaxFileSize = std::uint64_t{1} << 62;

std::string printable(const Magic& magic) {
  std::string text;
  for (const char c : magic) {
    text += c >= 32 && c < 127 ? std::string(1, c) : concat("\\x", hex_of(c));
  }
  return concat("'", text, "'");
}

std::uint64_t header_checksum(const HeaderPage& page) {
  HeaderPage copy = page;
  std::memset(copy.data() + offsetof(ContainerHeader, header_checksum), 0, sizeof(std::uint64_t));
  return xxh64(copy);
}

std::size_t entry_offset(std::size_t i) { return kTableOffset + i * sizeof(SectionEntry); }

struct HeaderReader : HeaderChecks {
  ContainerHeader header(const HeaderPage& page, const Magic& magic,
                         std::uint64_t actual_size) const {
    ContainerHeader header;
    std::memcpy(&header, page.data(), sizeof header);
    expect(header.magic == magic, "magic", 0, printable(magic), printable(header.magic));
    expect(header.byte_order == kByteOrder, "byte order", offsetof(ContainerHeader, byte_order),
           "a little-endian file",
           header.byte_order == 0x04030201 ? "a big-endian one" : "something else");
    expect(header.version == kFormatVersion, "version", offsetof(ContainerHeader, version),
           kFormatVersion, header.version);
    const std::uint64_t checksum = header_checksum(page);
    expect(header.header_checksum == checksum, "header checksum",
           offsetof(ContainerHeader, header_checksum), checksum, header.header_checksum);
    expect(header.file_size == actual_size, "file size", offsetof(ContainerHeader, file_size),
           concat(header.file_size, " bytes (the header says so)"), concat(actual_size, " bytes"));
    expect(header.file_size <= kMaxFileSize, "file size", offsetof(ContainerHeader, file_size),
           "at most 2^62 bytes", header.file_size);
    expect(header.num_sections <= kMaxSections, "section count",
           offsetof(ContainerHeader, num_sections), concat("at most ", kMaxSections),
           header.num_sections);
    expect_zeros(page, offsetof(ContainerHeader, reserved), kFieldsOffset);
    expect_zeros(page, entry_offset(header.num_sections), kPage);
    return header;
  }

  // `end` is where the section before this one ended, rounded up to a page.
  Section section(const SectionEntry& entry, std::size_t i, std::uint64_t end,
                  std::uint64_t file_size, bool (*is_known)(std::uint32_t)) const {
    const std::size_t at = entry_offset(i);
    expect(entry.reserved == 0, "reserved bytes of a section", at + 12, "zeros", entry.reserved);
    expect((entry.flags & ~kSectionRequired) == 0, "section flags",
           at + offsetof(SectionEntry, flags), "0 or 1", entry.flags);
    const bool known = is_known(entry.kind);
    if (!known && (entry.flags & kSectionRequired) != 0) {
      throw FormatError(
          path, "section kind ", entry.kind, " at byte ", at,
          " is required but not known to this version of graphzero: install a newer one");
    }
    const auto dtype = dtype_from_code(entry.dtype);
    expect(dtype.has_value() || !known, "section dtype", at + offsetof(SectionEntry, dtype),
           concat("a code below ", kNumDtypes), entry.dtype);
    expect(entry.offset == end, "section offset", at + offsetof(SectionEntry, offset),
           concat(end, " (the page after the section before it)"), entry.offset);
    const auto section_end = checked_add(entry.offset, entry.length);
    expect(section_end && *section_end <= file_size, "section length",
           at + offsetof(SectionEntry, length),
           concat("at most ", file_size - std::min(entry.offset, file_size),
                  " bytes up to the end of the file"),
           entry.length);
    return {entry.kind, dtype.value_or(Dtype::kUint8), entry.offset, entry.length, entry.checksum,
            at};
  }
};

}  // namespace

void refuse_field(const std::string& path, const std::string& what, std::uint64_t at,
                  const std::string& expected, const std::string& found) {
  throw FormatError(path, "bad ", what, " at byte ", at, ": expected ", expected, ", found ",
                    found);
}

void HeaderChecks::expect_zeros(const HeaderPage& page, std::size_t begin, std::size_t end) const {
  const bool zeros = std::all_of(page.data() + begin, page.data() + end,
                                 [](std::byte b) { return b == std::byte{0}; });
  expect(zeros, "reserved bytes", begin, "zeros", "something else");
}

void HeaderChecks::expect_dtype(const Section& section, const std::string& name,
                                Dtype dtype) const {
  expect(section.dtype == dtype, concat("dtype of section ", name),
         section.entry + offsetof(SectionEntry, dtype), dtype_name(dtype),
         dtype_name(section.dtype));
}

void HeaderChecks::expect_length(const Section& section, const std::string& name,
                                 std::optional<std::uint64_t> length,
                                 const std::string& expected) const {
  expect(section.length == length, concat("length of section ", name),
         section.entry + offsetof(SectionEntry, length), expected,
         concat(section.length, " bytes"));
}

const Section* Container::find(std::uint32_t kind) const {
  const auto found = std::find_if(sections.begin(), sections.end(),
                                  [&](const Section& s) { return s.kind == kind; });
  return found == sections.end() ? nullptr : &*found;
}

std::optional<Magic> read_magic(const File& file) {
  Magic magic;
  if (file.size() < magic.size()) return std::nullopt;
  file.read_exact_at(std::as_writable_bytes(std::span(magic)), 0);
  return magic;
}

Container read_container(const File& file, const Magic& magic, bool (*is_known)(std::uint32_t)) {
  const HeaderReader reader{{file.path()}};
  const std::uint64_t actual_size = file.size();
  if (actual_size < kPage) {
    // A file cut short of its header page still has a magic worth reporting if it is a foreign one.
    const auto found = read_magic(file);
    if (found && *found != magic)
      reader.expect(false, "magic", 0, printable(magic), printable(*found));
    throw FormatError(file.path(), "too short: expected at least the header's ", kPage,
                      " bytes, found ", actual_size);
  }
  HeaderPage page;
  file.read_exact_at(page, 0);
  return read_container(file.path(), page, actual_size, magic, is_known);
}

Container read_container(const std::string& path, const HeaderPage& page, std::uint64_t file_size,
                         const Magic& magic, bool (*is_known)(std::uint32_t)) {
  const HeaderReader reader{{path}};
  Container container;
  container.page = page;
  const ContainerHeader header = reader.header(page, magic, file_size);
  container.flags = header.flags;
  container.fingerprint = header.header_checksum;
  container.file_size = header.file_size;

  std::uint64_t end = kPage;
  for (std::size_t i = 0; i < header.num_sections; ++i) {
    SectionEntry entry;
    std::memcpy(&entry, page.data() + entry_offset(i), sizeof entry);
    const Section section = reader.section(entry, i, end, header.file_size, is_known);
    if (container.find(section.kind) != nullptr) {
      throw FormatError(path, "section kind ", section.kind, " at byte ", entry_offset(i),
                        " appears twice, expected once");
    }
    container.sections.push_back(section);
    end = *checked_round_up(section.offset + section.length, kPage);
  }
  reader.expect(end == header.file_size, "file size", offsetof(ContainerHeader, file_size),
                concat(end, " (the end of the last section, rounded up to a page)"),
                header.file_size);
  return container;
}

}  // namespace gz
