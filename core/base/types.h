// The vocabulary: ids, element types, directions, the page.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gz {

// Files are little-endian, and are mapped as they are; offsets into them have 64 bits.
static_assert(std::endian::native == std::endian::little,
              "graphzero runs on little-endian machines only: its files are little-endian, and it "
              "maps them");
static_assert(sizeof(void*) == 8, "graphzero runs on 64-bit systems only: it maps whole files");

// Signed, so that a negative id from a caller is seen as such and named in the error.
using NodeId = std::int64_t;
using EdgeId = std::int64_t;

// The most nodes or edges of a file; ids are below it. Leaves room for (count + 1) * 8 in 64 bits.
inline constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 59;

constexpr bool is_possible_id(std::int64_t id) {
  return static_cast<std::uint64_t>(id) < kMaxCount;
}

// Sections start on multiples of this. It is part of the file formats, not the machine's page size.
inline constexpr std::size_t kPage = 4096;

// `kOut`: who a node points to (CSR). `kIn`: who points to it (CSC).
enum class Direction : std::uint8_t { kOut, kIn };

constexpr std::string_view direction_name(Direction direction) {
  return direction == Direction::kOut ? "out" : "in";
}

// Bytes of one stored node or edge id.
enum class IdWidth : std::uint8_t { k4 = 4, k8 = 8 };

// Four bytes hold ids below 2^31: the range of int32, which NumPy and torch both index with.
constexpr IdWidth id_width_for(std::uint64_t num_ids) {
  return num_ids <= (std::uint64_t{1} << 31) ? IdWidth::k4 : IdWidth::k8;
}

// The codes are stored in files. 0 to 3 are those of GraphZero 0.2's DataType.
enum class Dtype : std::uint32_t {
  kInt32 = 0,
  kInt64 = 1,
  kFloat32 = 2,
  kFloat64 = 3,
  kFloat16 = 4,
  kBfloat16 = 5,
  kInt8 = 6,
  kInt16 = 7,
  kUint8 = 8,
  kBool = 9,
};

inline constexpr std::uint32_t kNumDtypes = 10;

constexpr std::size_t item_size(Dtype dtype) {
  constexpr std::size_t kSizes[kNumDtypes] = {4, 8, 4, 8, 2, 2, 1, 2, 1, 1};
  return kSizes[static_cast<std::uint32_t>(dtype)];
}

constexpr std::string_view dtype_name(Dtype dtype) {
  constexpr std::string_view kNames[kNumDtypes] = {"int32",   "int64",    "float32", "float64",
                                                   "float16", "bfloat16", "int8",    "int16",
                                                   "uint8",   "bool"};
  return kNames[static_cast<std::uint32_t>(dtype)];
}

// Empty for a code no version-1 file may hold.
constexpr std::optional<Dtype> dtype_from_code(std::uint32_t code) {
  if (code >= kNumDtypes) return std::nullopt;
  return static_cast<Dtype>(code);
}

constexpr Dtype id_dtype(IdWidth width) {
  return width == IdWidth::k4 ? Dtype::kInt32 : Dtype::kInt64;
}

}  // namespace gz
