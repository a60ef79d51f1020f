// .gi: node labels and their ids, both ways. docs/formats/gi.md is the specification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/random.h"
#include "core/format/container.h"

namespace gz {

inline constexpr Magic kGiMagic = {'G', 'R', 'A', 'P', 'H', 'Z', 'G', 'I'};

enum class LabelKind : std::uint32_t { kInteger = 1, kString = 2 };

inline constexpr std::uint64_t kMaxLabels = (std::uint64_t{1} << 40) - 1;  // a slot keeps 40 bits
inline constexpr std::uint64_t kMaxLabelBytes = std::uint64_t{1} << 31;

struct GiFields {
  std::uint32_t kind;
  std::uint32_t reserved;
  std::uint64_t num_labels;
  std::uint64_t num_homes;  // strings: slots a hash can point to; integers: 0
  std::uint64_t max_probe;  // strings: how far behind its home a label may be; integers: 0
};
static_assert(sizeof(GiFields) == 32);
static_assert(offsetof(GiFields, num_labels) == 8);
static_assert(offsetof(GiFields, num_homes) == 16);
static_assert(offsetof(GiFields, max_probe) == 24);

// The kinds of section.
inline constexpr std::uint32_t kGiLabels = 1;   // integers: the labels
inline constexpr std::uint32_t kGiSamples = 2;  // integers: levels of samples above them
inline constexpr std::uint32_t kGiBytes = 3;    // strings: the labels, one after the other
inline constexpr std::uint32_t kGiOffsets = 4;  // strings: where each label starts
inline constexpr std::uint32_t kGiSlots = 5;    // strings: the hash table

std::string gi_section_name(std::uint32_t kind);

// Level 0 are the labels; level k + 1 has every 16th item of level k, as long as that has more than
// 16. A level of samples is filled up to a multiple of 16 items with the largest int64.
inline constexpr std::uint64_t kGiFanout = 16;

// Items of each level of samples, filled up; the finest first. At most ten.
std::vector<std::uint64_t> gi_sample_levels(std::uint64_t num_labels);

// A slot is 0, or holds an id in its low 40 bits, plus 1, under 24 bits of the label's XXH64.
constexpr std::uint64_t gi_home(std::uint64_t hash, std::uint64_t num_homes) {
  return multiply_wide(hash, num_homes).high;
}
constexpr std::uint64_t gi_slot(std::uint64_t hash, std::uint64_t id) {
  return hash << 40 | (id + 1);
}
constexpr bool gi_slot_may_hold(std::uint64_t slot, std::uint64_t hash) {
  return (slot ^ hash << 40) >> 40 == 0;
}
constexpr std::uint64_t gi_slot_id(std::uint64_t slot) { return (slot & kMaxLabels) - 1; }

// Views of labels, one after the other: label i is bytes offsets[i] to offsets[i + 1].
struct StringLabels {
  std::span<const std::byte> bytes;
  std::span<const std::int64_t> offsets;  // one more than there are labels

  std::size_t size() const { return offsets.size() - 1; }
  std::span<const std::byte> operator[](std::size_t i) const {
    return bytes.subspan(static_cast<std::size_t>(offsets[i]),
                         static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
  }
  StringLabels part(std::size_t begin, std::size_t end) const {
    return {bytes, offsets.subspan(begin, end - begin + 1)};
  }
};

// Throws std::invalid_argument unless the offsets rise and stay inside the bytes.
void check_offsets(const StringLabels& labels);

// No overlong forms, no surrogates, nothing above U+10FFFF.
// How many bytes of it, from the first, are whole characters of UTF-8.
std::size_t utf8_prefix(std::span<const std::byte> text);
bool is_utf8(std::span<const std::byte> text);

// A label as an error message shows it: quoted, cut behind 80 bytes.
std::string quoted_label(std::span<const std::byte> label);

// A header that has been proven: its sections lie inside the file and have the length the counts
// ask for.
struct GiLayout {
  LabelKind kind = LabelKind::kInteger;
  std::uint64_t num_labels = 0;
  std::uint64_t num_homes = 0;
  std::uint64_t max_probe = 0;
  std::uint64_t labels_offset = 0;   // integers
  std::uint64_t samples_offset = 0;  // integers
  std::uint64_t bytes_offset = 0;    // strings
  std::uint64_t bytes_length = 0;    // strings
  std::uint64_t offsets_offset = 0;  // strings
  std::uint64_t slots_offset = 0;    // strings
  std::uint64_t fingerprint = 0;
  std::vector<Section> sections;
};

// O(1). Throws FormatError.
GiLayout read_gi(const File& file);

}  // namespace gz
