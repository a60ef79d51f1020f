#include "core/format/gi.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/format/gd.h"
#include "core/format/gl.h"
#include "core/format/graphzero02.h"

namespace gz {
namespace {

// The table of any file that can exist has fewer slots; sums and products of counts stay in 64
// bits.
constexpr std::uint64_t kMaxSlots = std::uint64_t{1} << 48;

constexpr const char* kNames[] = {"labels", "samples", "bytes", "offsets", "slots"};

bool is_known(std::uint32_t kind) { return kind >= kGiLabels && kind <= kGiSlots; }

LabelKind kind_of_section(std::uint32_t kind) {
  return kind <= kGiSamples ? LabelKind::kInteger : LabelKind::kString;
}

class LayoutReader {
 public:
  LayoutReader(const std::string& path, const Container& container)
      : path_(path), container_(container) {
    std::memcpy(&fields_, container.page.data() + kFieldsOffset, sizeof fields_);
  }

  GiLayout read() const {
    check_fields();
    GiLayout layout;
    layout.kind = static_cast<LabelKind>(fields_.kind);
    layout.num_labels = fields_.num_labels;
    layout.num_homes = fields_.num_homes;
    layout.max_probe = fields_.max_probe;
    for (const Section& section : container_.sections) {
      if (is_known(section.kind) && kind_of_section(section.kind) != layout.kind) {
        throw FormatError(path_, "section ", gi_section_name(section.kind), " at byte ",
                          section.entry, " does not belong to labels of this kind");
      }
    }
    if (layout.kind == LabelKind::kInteger) {
      std::uint64_t num_samples = 0;
      for (const std::uint64_t level : gi_sample_levels(layout.num_labels)) num_samples += level;
      layout.labels_offset = items(kGiLabels, layout.num_labels);
      layout.samples_offset = items(kGiSamples, num_samples);
    } else {
      const Section& bytes = section(kGiBytes, Dtype::kUint8);
      layout.bytes_offset = bytes.offset;
      layout.bytes_length = bytes.length;
      layout.offsets_offset = items(kGiOffsets, layout.num_labels + 1);
      layout.slots_offset = items(kGiSlots, layout.num_homes + layout.max_probe);
    }
    layout.fingerprint = container_.fingerprint;
    layout.sections = container_.sections;
    return layout;
  }

 private:
  void expect(bool holds, const char* what, std::uint64_t at, const std::string& expected,
              std::uint64_t found) const {
    if (!holds) refuse_field(path_, what, at, expected, concat(found));
  }

  void check_fields() const {
    expect(container_.flags == 0, "flags", offsetof(ContainerHeader, flags), "0", container_.flags);
    expect(fields_.kind == 1 || fields_.kind == 2, "kind of labels", kFieldsOffset,
           "1 (integers) or 2 (strings)", fields_.kind);
    expect(fields_.num_labels <= kMaxLabels, "number of labels", kFieldsOffset + 8,
           concat("at most ", kMaxLabels), fields_.num_labels);
    const bool strings = fields_.kind == 2;
    expect(
        strings ? fields_.num_homes >= 1 && fields_.num_homes <= kMaxSlots : fields_.num_homes == 0,
        "number of home slots", kFieldsOffset + 16, strings ? "1 to 2^48" : "0", fields_.num_homes);
    expect(fields_.max_probe <= (strings ? kMaxSlots : 0), "longest probe", kFieldsOffset + 24,
           strings ? "at most 2^48" : "0", fields_.max_probe);
    const std::byte* const page = container_.page.data();
    const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
    if (fields_.reserved != 0)
      refuse_field(path_, "reserved bytes", kFieldsOffset + 4, "zeros", "something else");
    if (!std::all_of(page + kFieldsOffset + sizeof fields_, page + kTableOffset, is_zero)) {
      refuse_field(path_, "reserved bytes", kFieldsOffset + sizeof fields_, "zeros",
                   "something else");
    }
  }

  const Section& section(std::uint32_t kind, Dtype dtype) const {
    const Section* const found = container_.find(kind);
    const std::string name = gi_section_name(kind);
    if (found == nullptr) throw FormatError(path_, "expected a ", name, " section, found none");
    if (found->dtype != dtype) {
      refuse_field(path_, concat("dtype of section ", name),
                   found->entry + offsetof(SectionEntry, dtype), std::string(dtype_name(dtype)),
                   std::string(dtype_name(found->dtype)));
    }
    return *found;
  }

  // Where a section of `count` int64 starts.
  std::uint64_t items(std::uint32_t kind, std::uint64_t count) const {
    const Section& found = section(kind, Dtype::kInt64);
    if (found.length != count * 8) {
      refuse_field(path_, concat("length of section ", gi_section_name(kind)),
                   found.entry + offsetof(SectionEntry, length),
                   concat(count * 8, " bytes for ", count, " items"),
                   concat(found.length, " bytes"));
    }
    return found.offset;
  }

  const std::string& path_;
  const Container& container_;
  GiFields fields_;
};

template <class Word>
Word load(const std::byte* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

}  // namespace

std::string gi_section_name(std::uint32_t kind) {
  return is_known(kind) ? kNames[kind - 1] : concat("kind ", kind);
}

std::vector<std::uint64_t> gi_sample_levels(std::uint64_t num_labels) {
  std::vector<std::uint64_t> levels;
  for (std::uint64_t count = num_labels; count > kGiFanout;) {
    count = (count + kGiFanout - 1) / kGiFanout;
    levels.push_back((count + kGiFanout - 1) / kGiFanout * kGiFanout);
  }
  return levels;
}

// Most labels are shorter than a stripe of XXH64 (32 bytes); for them this is the whole algorithm,
// without the state that streaming needs.
std::uint64_t hash_label(std::span<const std::byte> label) {
  if (label.size() >= 32) return xxh64(label);
  constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87u;
  constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4Fu;
  constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9u;
  constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63u;
  constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5u;
  std::uint64_t hash = kPrime5 + label.size();
  const std::byte* at = label.data();
  std::size_t left = label.size();
  for (; left >= 8; at += 8, left -= 8) {
    hash ^= std::rotl(load<std::uint64_t>(at) * kPrime2, 31) * kPrime1;
    hash = std::rotl(hash, 27) * kPrime1 + kPrime4;
  }
  if (left >= 4) {
    hash = std::rotl(hash ^ load<std::uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
    at += 4, left -= 4;
  }
  for (; left > 0; ++at, --left) {
    hash = std::rotl(hash ^ std::to_integer<std::uint64_t>(*at) * kPrime5, 11) * kPrime1;
  }
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

void check_offsets(const StringLabels& labels) {
  if (labels.offsets.empty())
    throw std::invalid_argument("offsets of labels: expected one more than labels, found none");
  std::int64_t last = 0;
  for (std::size_t i = 0; i < labels.offsets.size(); ++i) {
    if (labels.offsets[i] < last) {
      throw std::invalid_argument(concat("offsets of labels: [", i, "]: expected at least ", last,
                                         ", found ", labels.offsets[i]));
    }
    last = labels.offsets[i];
  }
  if (static_cast<std::uint64_t>(last) > labels.bytes.size()) {
    throw std::invalid_argument(concat("offsets of labels: expected at most ", labels.bytes.size(),
                                       " bytes, found ", last));
  }
}

std::size_t utf8_prefix(std::span<const std::byte> text) {
  const auto* const begin = reinterpret_cast<const unsigned char*>(text.data());
  const auto* at = begin;
  const auto* const end = at + text.size();
  const auto before = [&](const unsigned char* place) {
    return static_cast<std::size_t>(place - begin);
  };
  while (at < end) {
    if (end - at >= 8 &&
        (load<std::uint64_t>(reinterpret_cast<const std::byte*>(at)) & 0x8080808080808080u) == 0) {
      at += 8;
      continue;
    }
    const unsigned first = *at++;
    if (first < 0x80) continue;
    // The bounds of the second byte rule out overlong forms, surrogates and too large code points.
    unsigned low = 0x80, high = 0xBF;
    int more = 1;
    if (first >= 0xC2 && first <= 0xDF) {
      more = 1;
    } else if (first >= 0xE0 && first <= 0xEF) {
      more = 2;
      if (first == 0xE0) low = 0xA0;
      if (first == 0xED) high = 0x9F;
    } else if (first >= 0xF0 && first <= 0xF4) {
      more = 3;
      if (first == 0xF0) low = 0x90;
      if (first == 0xF4) high = 0x8F;
    } else {
      return before(at - 1);
    }
    if (end - at < more || *at < low || *at > high) return before(at - 1);
    for (int i = 1; i < more; ++i) {
      if ((at[i] & 0xC0) != 0x80) return before(at - 1);
    }
    at += more;
  }
  return text.size();
}

bool is_utf8(std::span<const std::byte> text) { return utf8_prefix(text) == text.size(); }

std::string quoted_label(std::span<const std::byte> label) {
  constexpr std::size_t kMost = 80;
  constexpr char kDigits[] = "0123456789abcdef";
  const bool text = is_utf8(label);
  std::size_t shown = std::min(label.size(), kMost);
  // Not in the middle of a character.
  while (text && shown < label.size() && shown > 0 &&
         (std::to_integer<unsigned>(label[shown]) & 0xC0) == 0x80) {
    --shown;
  }
  std::string out = "'";
  for (const std::byte b : label.first(shown)) {
    const auto byte = std::to_integer<unsigned char>(b);
    if (byte < 32 || byte == 127 || (byte >= 128 && !text)) {
      out += concat("\\x", kDigits[byte >> 4], kDigits[byte & 15]);
    } else {
      out += static_cast<char>(byte);
    }
  }
  return out + (shown < label.size() ? "…'" : "'");
}

GiLayout read_gi(const File& file) {
  const auto magic = read_magic(file);
  if (magic == kGlMagic || magic == kGraphZero02GlMagic) {
    throw FormatError(file.path(),
                      "is a topology file (.gl), expected an id dictionary (.gi): open it with "
                      "Graph");
  }
  if (magic == kGdMagic || magic == kGraphZero02GdMagic) {
    throw FormatError(file.path(),
                      "is a feature file (.gd), expected an id dictionary (.gi): open it with "
                      "FeatureStore");
  }
  const Container container = read_container(file, kGiMagic, &is_known);
  return LayoutReader(file.path(), container).read();
}

}  // namespace gz
