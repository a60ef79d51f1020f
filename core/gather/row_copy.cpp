#include "core/gather/row_copy.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/prefetch.h"

namespace gz {
namespace {

constexpr std::size_t kLine = 64;

// Lines on their way at a time. A core has room for 10 to 16; the next levels queue some more.
constexpr std::size_t kLinesAhead = 48;

// A row of a size the compiler knows is copied without a call.
template <std::size_t kSize>
struct FixedSize {
  constexpr operator std::size_t() const { return kSize; }
};

template <std::size_t... kSizes, class Body>
void with_row_size(std::index_sequence<kSizes...>, std::size_t size, Body&& body) {
  const bool known = ((size == kSizes && (body(FixedSize<kSizes>()), true)) || ...);
  if (!known) body(size);
}

struct Addresses {
  std::span<const std::byte* const> rows;

  std::size_t count() const { return rows.size(); }
  const std::byte* place(std::size_t i, std::size_t) const { return rows[i]; }
};

struct Numbers {
  const std::byte* data;
  std::span<const std::int64_t> rows;

  std::size_t count() const { return rows.size(); }
  const std::byte* place(std::size_t i, std::size_t row_bytes) const {
    return data + static_cast<std::size_t>(rows[i]) * row_bytes;
  }
};

struct OneBlock {
  std::byte* out;

  std::byte* place(std::size_t i, std::size_t row_bytes) const { return out + i * row_bytes; }
};

struct AnyPlaces {
  std::span<std::byte* const> outs;

  std::byte* place(std::size_t i, std::size_t) const { return outs[i]; }
};

// body(i, its place) for every row, while the rows behind it are on their way.
template <class Places, class Size, class Body>
void for_each_row(Places places, Size size, Body&& body) {
  const std::size_t lines = std::max<std::size_t>((size + kLine - 1) / kLine, 1);
  // Beyond 4 kB the processor's own prefetcher has seen where a row goes.
  const std::size_t fetched = std::min<std::size_t>(lines, 64);
  const std::size_t ahead = std::clamp<std::size_t>(kLinesAhead / lines, 1, 32);
  const std::size_t count = places.count();
  const auto fetch = [&](std::size_t i) {
    const std::byte* const row = places.place(i, size);
    for (std::size_t line = 0; line < fetched; ++line) prefetch(row + line * kLine);
  };
  for (std::size_t i = 0; i < std::min(ahead, count); ++i) fetch(i);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + ahead < count) fetch(i + ahead);
    body(i, places.place(i, size));
  }
}

// "float32, float16 or bfloat16"
std::string possible_types(Dtype stored, bool quantised) {
  std::vector<std::string_view> names = {dtype_name(stored)};
  for (std::uint32_t code = 0; code < kNumDtypes; ++code) {
    const auto wanted = static_cast<Dtype>(code);
    if (portable_conversion({stored, quantised, wanted})) names.push_back(dtype_name(wanted));
  }
  std::string text(names[0]);
  for (std::size_t i = 1; i < names.size(); ++i)
    text += concat(i + 1 < names.size() ? ", " : " or ", names[i]);
  return text;
}

}  // namespace

RowCopy::RowCopy(Dtype stored, bool quantised, std::uint64_t items_per_row,
                 std::optional<Dtype> wanted)
    : stored_(stored), quantised_(quantised), items_(items_per_row), out_(wanted.value_or(stored)) {
  if (out_ == stored_) return;
  const ItemTypes types = {stored_, quantised_, out_};
  convert_ = processor_conversion(types);
  if (!convert_) convert_ = portable_conversion(types);
  if (!convert_) {
    throw std::invalid_argument(concat("dtype: expected ", possible_types(stored, quantised),
                                       ", which ", quantised ? "quantised " : "",
                                       dtype_name(stored), " rows can be gathered as, found ",
                                       dtype_name(out_)));
  }
}

RowCopy RowCopy::with_scales(std::uint64_t items_per_row) {
  RowCopy copy(Dtype::kInt8, /*quantised=*/true, items_per_row, {});
  copy.adds_scales_ = true;
  return copy;
}

// Stores that go past the cache were no faster once the result is read, and slower where it is not
// aligned to lines, as NumPy's arrays are not.
template <class Places, class Outs>
void RowCopy::copy_all(Places places, std::span<const float> scales, Outs outs) const {
  if (convert_) {
    for_each_row(places, stored_bytes(), [&](std::size_t i, const std::byte* row) {
      convert_(row, items_, scales.empty() ? 1.0f : scales[i], outs.place(i, out_bytes()));
    });
    return;
  }
  if (adds_scales_) {
    for_each_row(places, stored_bytes(), [&](std::size_t i, const std::byte* row) {
      std::byte* const out = outs.place(i, out_bytes());
      std::memcpy(out, row, items_);
      std::memcpy(out + items_, &scales[i], sizeof(float));
    });
    return;
  }
  constexpr std::index_sequence<1, 2, 4, 8, 16, 32, 64, 128, 256> kKnownSizes;
  with_row_size(kKnownSizes, stored_bytes(), [&](auto size) {
    for_each_row(places, size, [&](std::size_t i, const std::byte* row) {
      std::memcpy(outs.place(i, size), row, size);
    });
  });
}

void RowCopy::copy(std::span<const std::byte* const> rows, std::span<const float> scales,
                   std::byte* out) const {
  copy_all(Addresses{rows}, scales, OneBlock{out});
}

void RowCopy::copy(std::span<const std::byte* const> rows, std::span<const float> scales,
                   std::span<std::byte* const> outs) const {
  copy_all(Addresses{rows}, scales, AnyPlaces{outs});
}

void RowCopy::copy(const std::byte* data, std::span<const std::int64_t> rows,
                   std::span<const float> scales, std::byte* out) const {
  copy_all(Numbers{data, rows}, scales, OneBlock{out});
}

}  // namespace gz
