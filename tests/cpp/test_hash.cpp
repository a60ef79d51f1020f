#include <string_view>
#include <vector>

#include "core/base/hash.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

std::uint64_t hash_of(std::string_view text) { return xxh64(std::as_bytes(std::span(text))); }

// Known answers of the reference implementation, seed 0; tests/python/test_formats.py compares
// more lengths with the xxhash package through the checksums in files.
TEST(xxh64_gives_the_published_answers) {
  EXPECT(hash_of("") == 0xEF46DB3751D8E999u);
  EXPECT(hash_of("a") == 0xD24EC4F1A98C6E5Bu);
  EXPECT(hash_of("abc") == 0x44BC2CF5AD770999u);
  EXPECT(hash_of("Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1u);
}

TEST(a_stream_of_pieces_hashes_as_the_whole) {
  std::vector<std::byte> bytes(1000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 + i / 7);
  const std::uint64_t whole = xxh64(bytes);
  for (std::size_t step = 1; step < 100; ++step) {
    Xxh64 hash;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      hash.update(std::span(bytes).subspan(at, std::min(step, bytes.size() - at)));
    }
    EXPECT(hash.digest() == whole);
  }
}

}  // namespace
}  // namespace gz
