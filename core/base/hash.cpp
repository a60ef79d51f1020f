#include "core/base/hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace gz {
namespace {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87u;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4Fu;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9u;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63u;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5u;

template <class Word>
Word load(const std::byte* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t input) {
  return std::rotl(lane + input * kPrime2, 31) * kPrime1;
}

std::uint64_t merge(std::uint64_t hash, std::uint64_t lane) {
  return (hash ^ round(0, lane)) * kPrime1 + kPrime4;
}

// Takes in the bytes behind the last whole stripe, and mixes.
std::uint64_t finish(std::uint64_t hash, std::span<const std::byte> rest) {
  const std::byte* at = rest.data();
  std::size_t left = rest.size();
  for (; left >= 8; at += 8, left -= 8) {
    hash = std::rotl(hash ^ round(0, load<std::uint64_t>(at)), 27) * kPrime1 + kPrime4;
  }
  if (left >= 4) {
    hash = std::rotl(hash ^ load<std::uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
    at += 4, left -= 4;
  }
  for (; left > 0; ++at, --left) {
    hash = std::rotl(hash ^ std::to_integer<std::uint64_t>(*at) * kPrime5, 11) * kPrime1;
  }
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

}  // namespace

std::array<std::uint64_t, 4> Xxh64::initial_lanes() {
  return {kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
}

void Xxh64::consume_stripes(const std::byte* data, std::size_t num_stripes) {
  auto [a, b, c, d] = lanes_;
  for (std::size_t i = 0; i < num_stripes; ++i, data += kStripe) {
    a = round(a, load<std::uint64_t>(data));
    b = round(b, load<std::uint64_t>(data + 8));
    c = round(c, load<std::uint64_t>(data + 16));
    d = round(d, load<std::uint64_t>(data + 24));
  }
  lanes_ = {a, b, c, d};
}

void Xxh64::update(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  total_ += bytes.size();
  if (num_pending_ > 0) {
    const std::size_t taken = std::min(kStripe - num_pending_, bytes.size());
    std::memcpy(pending_.data() + num_pending_, bytes.data(), taken);
    num_pending_ += taken;
    bytes = bytes.subspan(taken);
    if (num_pending_ < kStripe) return;
    consume_stripes(pending_.data(), 1);
    num_pending_ = 0;
  }
  const std::size_t num_stripes = bytes.size() / kStripe;
  consume_stripes(bytes.data(), num_stripes);
  bytes = bytes.subspan(num_stripes * kStripe);
  if (!bytes.empty()) std::memcpy(pending_.data(), bytes.data(), bytes.size());
  num_pending_ = bytes.size();
}

std::uint64_t Xxh64::digest() const {
  std::uint64_t hash = kPrime5;  // what seed 0 starts from when there is no whole stripe
  if (total_ >= kStripe) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
           std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_) hash = merge(hash, lane);
  }
  return finish(hash + total_, std::span(pending_).first(num_pending_));
}

// Most labels are shorter than a stripe: for them finish() is the whole algorithm, without the
// state that streaming needs.
std::uint64_t xxh64(std::span<const std::byte> bytes) {
  if (bytes.size() < Xxh64::kStripe) return finish(kPrime5 + bytes.size(), bytes);
  Xxh64 hash;
  hash.update(bytes);
  return hash.digest();
}

}  // namespace gz
