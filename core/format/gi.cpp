#include "core/format/gi.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "core/base/error.h"
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

class LayoutReader : HeaderChecks {
 public:
  LayoutReader(const std::string& file, const Container& container)
      : HeaderChecks{file}, container_(container) {
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
        throw FormatError(path, "section ", gi_section_name(section.kind), " at byte ",
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
    expect_zeros(container_.page, kFieldsOffset + offsetof(GiFields, reserved),
                 kFieldsOffset + offsetof(GiFields, num_labels));
    expect_zeros(container_.page, kFieldsOffset + sizeof fields_, kTableOffset);
  }

  const Section& section(std::uint32_t kind, Dtype dtype) const {
    const Section* const found = container_.find(kind);
    const std::string name = gi_section_name(kind);
    if (found == nullptr) throw FormatError(path, "expected a ", name, " section, found none");
    expect_dtype(*found, name, dtype);
    return *found;
  }

  // Where a section of `count` int64 starts.
  std::uint64_t items(std::uint32_t kind, std::uint64_t count) const {
    const Section& found = section(kind, Dtype::kInt64);
    expect_length(found, gi_section_name(kind), count * 8,
                  concat(count * 8, " bytes for ", count, " items"));
    return found.offset;
  }

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
  const bool text = is_utf8(label);
  std::size_t shown = std::min(label.size(), kMost);
  // Not in the middle of a character.
  while (text && shown < label.size() && shown > 0 &&
         (std::to_integer<unsigned>(label[shown]) & 0xC0) == 0x80) {
    --shown;
  }
  std::string out = "'";
  for (const std::byte b : label.first(shown)) {
    const auto c = std::to_integer<char>(b);
    const auto code = static_cast<unsigned char>(c);  // char is unsigned on arm64
    const bool plain = code >= 128 ? text : code >= 32 && code != 127;
    out += plain ? std::string(1, c) : concat("\\x", hex_of(c));
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
