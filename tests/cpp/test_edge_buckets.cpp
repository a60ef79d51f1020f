#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/convert/edge_buckets.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

using Record = EdgeRecord<std::uint32_t, false, false, false>;

// Ranges of 2^32 keys and more hold every key of 32 bits.
TEST(one_bucket_takes_every_key_of_32_bits) {
  RecordMemory memory(1 << 20, 4096, std::filesystem::temp_directory_path().string());
  EdgeBuckets<Record> buckets(memory, 1);
  const std::vector<std::uint32_t> keys = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff};
  for (const std::uint32_t key : keys) {
    buckets.fill<Record>(key, [&](auto put) {
      Record record{};
      record.key = key;
      put(record);
    });
  }
  buckets.close();
  auto sorted = buckets.take(std::uint64_t{1} << 40);
  EXPECT(sorted.buckets.size() == 1);
  std::vector<std::uint32_t> found;
  std::vector<Record> buffer;
  for (const RecordBlock& block : sorted.buckets[0]) {
    for (const Record& record : buckets.view(block, buffer)) found.push_back(record.key);
  }
  EXPECT(found == keys);
}

}  // namespace
}  // namespace gz
