// XXH64, the checksum of our files (Collet's xxHash specification, 64-bit variant, seed 0).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gz {

// Chosen over CRC32C because it needs no CPU feature and over XXH3 because it is forty lines; it
// runs at several times the speed of any disk (docs/design/checksum.md).
class Xxh64 {
 public:
  static constexpr std::size_t kStripe = 32;

  void update(std::span<const std::byte> bytes);
  std::uint64_t digest() const;

 private:
  void consume_stripes(const std::byte* data, std::size_t num_stripes);

  std::array<std::uint64_t, 4> lanes_ = initial_lanes();
  std::array<std::byte, kStripe> pending_{};  // bytes that do not fill a stripe yet
  std::size_t num_pending_ = 0;
  std::uint64_t total_ = 0;

  static std::array<std::uint64_t, 4> initial_lanes();
};

std::uint64_t xxh64(std::span<const std::byte> bytes);

}  // namespace gz
