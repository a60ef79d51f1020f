#include <cstdint>
#include <unordered_map>

#include "core/base/random.h"
#include "core/sample/node_table.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

template <class Word>
void compare_with_a_map(Word largest) {
  NodeTable<Word> table;
  std::unordered_map<Word, Word> map;
  Rng rng(1, {2});
  for (int round = 0; round < 2000; ++round) {
    table.reserve(10);
    for (int i = 0; i < 10; ++i) {
      const auto key = static_cast<Word>(rng.below(largest));
      const auto fresh = static_cast<Word>(map.size());
      EXPECT(table.find(key) == (map.contains(key) ? map[key] : NodeTable<Word>::kNone));
      EXPECT(table.insert(key, fresh) == map.try_emplace(key, fresh).first->second);
    }
  }
}

TEST(a_node_table_is_a_map) {
  compare_with_a_map<std::uint32_t>(50);
  compare_with_a_map<std::uint32_t>(30000);
  compare_with_a_map<std::uint32_t>(0xfffffffe);
  compare_with_a_map<std::uint64_t>(30000);
  compare_with_a_map<std::uint64_t>(std::uint64_t{1} << 62);
}

TEST(an_empty_node_table_knows_nobody) {
  EXPECT(NodeTable<std::uint32_t>().find(0) == NodeTable<std::uint32_t>::kNone);
}

}  // namespace
}  // namespace gz
