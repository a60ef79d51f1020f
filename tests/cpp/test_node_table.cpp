#include <algorithm>
#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/random.h"
#include "core/base/team.h"
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

// Local ids by claims of a team, and by one thread that inserts the same keys one after the other.
template <class Word>
void compare_claims_with_inserts(Word largest, std::size_t count, int threads) {
  set_num_threads(threads);
  NodeTable<Word> serial, shared;
  Rng rng(3, {4});
  Word num_known = 0;
  with_team(static_cast<std::size_t>(threads), [&](Team& team) {
    for (int hop = 0; hop < 4; ++hop) {
      std::vector<Word> keys(count), expected(count), found(count);
      for (Word& key : keys) key = static_cast<Word>(rng.below(largest));
      Word num_new = 0;
      serial.reserve(count);
      for (std::size_t i = 0; i < count; ++i) {
        expected[i] = serial.insert(keys[i], num_known + num_new);
        num_new += expected[i] == num_known + num_new;
      }
      shared.reserve(count, team);
      constexpr std::size_t kPart = 64;
      const std::size_t parts = (count + kPart - 1) / kPart;
      std::vector<std::size_t> slots(count);
      std::vector<std::atomic<std::int64_t>> won(parts);
      const auto for_each = [&](const auto& body) {
        team.run(parts, [&](std::size_t p, std::size_t) {
          for (std::size_t i = p * kPart; i < std::min(count, (p + 1) * kPart); ++i) body(p, i);
        });
      };
      for_each([&](std::size_t p, std::size_t i) {
        std::size_t num_won = 0;
        slots[i] = shared.claim(keys[i], static_cast<Word>(i), num_won,
                                [&](Word loser) { --won[loser / kPart]; });
        won[p] += static_cast<std::int64_t>(num_won);
      });
      std::vector<Word> next(parts, num_known);
      for (std::size_t p = 1; p < parts; ++p)
        next[p] = next[p - 1] + static_cast<Word>(won[p - 1].load());
      EXPECT(next.back() + static_cast<Word>(won.back().load()) == num_known + num_new);
      for_each([&](std::size_t p, std::size_t i) {
        if (shared.has(slots[i], static_cast<Word>(i))) shared.settle(slots[i], next[p]++);
      });
      for_each([&](std::size_t, std::size_t i) { found[i] = shared.local(slots[i]); });
      shared.add_settled(num_new);
      num_known += num_new;
      EXPECT(found == expected);
    }
  });
  set_num_threads(0);
}

TEST(claims_of_many_threads_are_worth_what_inserts_of_one_are) {
  for (const int threads : {1, 2, 7}) {
    compare_claims_with_inserts<std::uint32_t>(1, 500, threads);
    compare_claims_with_inserts<std::uint32_t>(50, 5000, threads);
    compare_claims_with_inserts<std::uint32_t>(0xfffffffe, 20000, threads);
    compare_claims_with_inserts<std::uint64_t>(1, 500, threads);
    compare_claims_with_inserts<std::uint64_t>(50, 5000, threads);
    compare_claims_with_inserts<std::uint64_t>(std::uint64_t{1} << 62, 20000, threads);
  }
}

TEST(an_empty_node_table_knows_nobody) {
  EXPECT(NodeTable<std::uint32_t>().find(0) == NodeTable<std::uint32_t>::kNone);
}

}  // namespace
}  // namespace gz
