#include "core/synth/synthetic_nodes.h"

#include <algorithm>
#include <stdexcept>

#include "core/base/error.h"
#include "core/base/parallel.h"

namespace gz {

namespace {

constexpr std::size_t kGrain = 8192;

void check_range(std::uint64_t first, std::uint64_t length, std::uint64_t count) {
  if (first > count || length > count - first) {
    throw std::out_of_range(
        concat("expected nodes below ", count, ", found ", length, " from ", first, " on"));
  }
}

// Two sums of four bytes each, in the halves of the result.
constexpr std::uint64_t byte_sums(std::uint64_t draw) {
  const std::uint64_t pairs = (draw & 0x00ff00ff00ff00ffu) + (draw >> 8 & 0x00ff00ff00ff00ffu);
  return (pairs & 0x0000ffff0000ffffu) + (pairs >> 16 & 0x0000ffff0000ffffu);
}

}  // namespace

SyntheticNodes::SyntheticNodes(std::uint64_t seed, SynthNodes nodes, std::uint64_t classes)
    : classes_(classes),
      places_(places_of(seed, nodes)),
      lots_(nodes.num_nodes, synthesis_key(seed, Drawn::kSplits).with(nodes.kind)),
      centroids_(synthesis_key(seed, Drawn::kCentroids)),
      noise_(synthesis_key(seed, Drawn::kNoise).with(nodes.kind)) {}

void SyntheticNodes::fill_labels(std::uint64_t first, std::span<std::int64_t> out) const {
  check_range(first, out.size(), places_.count());
  parallel_chunks(out.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      out[i] = static_cast<std::int64_t>(places_.place(first + i) % classes_);
    }
  });
}

template <class Id>
void SyntheticNodes::fill_places(std::uint64_t first, std::span<Id> out) const {
  check_range(first, out.size(), places_.count());
  parallel_chunks(out.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) out[i] = static_cast<Id>(places_.place(first + i));
  });
}

template void SyntheticNodes::fill_places(std::uint64_t, std::span<std::int32_t>) const;
template void SyntheticNodes::fill_places(std::uint64_t, std::span<std::int64_t>) const;

template <class Item>
void SyntheticNodes::fill_items(std::uint64_t first, bool by_place, std::size_t width,
                                const Item* values, std::span<Item> out) const {
  constexpr std::size_t kBitsPerWord = 64;
  const std::size_t grain = std::max<std::size_t>(1, kGrain * 8 / width);
  parallel_chunks(out.size() / width, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint64_t node = by_place ? places_.node(first + i) : first + i;
      const std::uint64_t place = by_place ? first + i : places_.place(first + i);
      const Key centroid = centroids_.with(place % classes_);
      Rng noise(noise_.with(node));
      Item* const row = out.data() + i * width;
      for (std::size_t word = 0; word < width; word += kBitsPerWord) {
        std::uint64_t positive = centroid.with(word / kBitsPerWord).state();
        const std::size_t stop = std::min(width, word + kBitsPerWord);
        for (std::size_t column = word; column < stop; column += 2, positive >>= 2) {
          const std::uint64_t sums = byte_sums(noise.next());
          row[column] = values[(positive & 1) * kNoiseValues + (sums & 0xffffffffu)];
          if (column + 1 == stop) break;
          row[column + 1] = values[(positive >> 1 & 1) * kNoiseValues + (sums >> 32)];
        }
      }
    }
  });
}

void SyntheticNodes::fill_rows(std::uint64_t first, bool by_place, std::size_t width,
                               std::size_t item_bytes, std::span<const std::byte> values,
                               std::span<std::byte> out) const {
  if (width == 0 || values.size() != 2 * kNoiseValues * item_bytes) {
    throw std::invalid_argument(concat("expected ", 2 * kNoiseValues, " values of ", item_bytes,
                                       " bytes for rows of at least 1 item, found ", values.size(),
                                       " bytes for rows of ", width));
  }
  check_range(first, out.size() / (width * item_bytes), places_.count());
  const auto fill = [&]<class Item>() {
    fill_items(first, by_place, width, reinterpret_cast<const Item*>(values.data()),
               std::span(reinterpret_cast<Item*>(out.data()), out.size() / sizeof(Item)));
  };
  switch (item_bytes) {
    case 2:
      return fill.operator()<std::uint16_t>();
    case 4:
      return fill.operator()<std::uint32_t>();
    case 8:
      return fill.operator()<std::uint64_t>();
    default:
      throw std::invalid_argument(concat("expected items of 2, 4 or 8 bytes, found ", item_bytes));
  }
}

std::vector<NodeId> SyntheticNodes::with_lots(std::uint64_t first, std::uint64_t end,
                                              std::uint64_t from, std::uint64_t to) const {
  check_range(first, end - first, lots_.count());
  std::vector<std::uint8_t> chosen(end - first);
  parallel_chunks(chosen.size(), kGrain, [&](std::size_t begin, std::size_t stop) {
    for (std::size_t i = begin; i < stop; ++i) {
      const std::uint64_t lot = lots_.place(first + i);
      chosen[i] = lot >= from && lot < to;
    }
  });
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) nodes.push_back(static_cast<NodeId>(first + i));
  }
  return nodes;
}

}  // namespace gz
