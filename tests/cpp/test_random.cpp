#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "core/base/random.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

// SplitMix64 from state 1234567: the sequence that implementations in many languages publish.
TEST(mix64_continues_the_published_splitmix64_sequence) {
  std::uint64_t state = 1234567;
  const std::array<std::uint64_t, 5> expected = {6457827717110365317u, 3203168211198807973u,
                                                 9817491932198370423u, 4593380528125082431u,
                                                 16408922859458223821u};
  for (const std::uint64_t value : expected) EXPECT(mix64(state += kGoldenGamma) == value);
}

// docs/design/randomness.md publishes these; they must never change.
TEST(keyed_streams_give_the_vectors_we_publish) {
  Rng plain(0, {});
  EXPECT(plain.next() == 12035550249420947055u);
  EXPECT(plain.next() == 12935080325729570654u);
  Rng keyed(42, {1, 2, 3});
  EXPECT(keyed.next() == 154953774558054057u);
  EXPECT(keyed.next() == 4063374377524604240u);
  Rng bounded(42, {7});
  EXPECT(bounded.below(10) == 3u);
  EXPECT(bounded.below(10) == 3u);
  EXPECT(bounded.below(std::uint64_t{1} << 63) == 5134679202646557557u);
}

TEST(the_order_and_number_of_words_matter) {
  std::set<std::uint64_t> first;
  first.insert(Rng(1, {}).next());
  first.insert(Rng(1, {0}).next());
  first.insert(Rng(1, {0, 0}).next());
  first.insert(Rng(1, {0, 1}).next());
  first.insert(Rng(1, {1, 0}).next());
  first.insert(Rng(0, {1}).next());
  EXPECT(first.size() == 6);
}

TEST(neighbouring_keys_give_unrelated_streams) {
  // Bits of the first draw of streams 0, 1, 2 …: each must be set half the time, and the number of
  // bits that change from one key to the next must be 32 on average.
  constexpr int kKeys = 20000;
  std::array<int, 64> ones{};
  double flips = 0;
  std::uint64_t last = Rng(9, {0}).next();
  for (std::uint64_t key = 1; key <= kKeys; ++key) {
    const std::uint64_t draw = Rng(9, {key}).next();
    for (std::size_t bit = 0; bit < 64; ++bit) ones[bit] += static_cast<int>(draw >> bit & 1);
    flips += __builtin_popcountll(draw ^ last);
    last = draw;
  }
  for (const int count : ones) EXPECT(std::abs(count - kKeys / 2) < 5 * std::sqrt(kKeys) / 2);
  EXPECT(std::abs(flips / kKeys - 32) < 5 * 4 / std::sqrt(kKeys));
}

double chi_square(const std::vector<int>& counts, double expected) {
  double sum = 0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(bounded_draws_are_uniform) {
  for (const std::uint64_t bound : {2u, 3u, 10u, 97u}) {
    std::vector<int> counts(bound, 0);
    Rng rng(3, {bound});
    for (std::uint64_t i = 0; i < 1000 * bound; ++i) ++counts[rng.below(bound)];
    // Mean bound-1, standard deviation sqrt(2 (bound-1)).
    const double freedom = static_cast<double>(bound) - 1;
    EXPECT(chi_square(counts, 1000) < freedom + 5 * std::sqrt(2 * freedom));
  }
}

TEST(a_bound_that_does_not_divide_2_to_the_64_is_not_biased) {
  // 3·2^62: without rejection the lower two thirds of the values would come up 4/3 as often as they
  // should (modulo), or every third value twice as often (plain multiply-shift).
  constexpr std::uint64_t kBound = std::uint64_t{3} << 62;
  std::vector<int> thirds(3, 0), residues(3, 0);
  Rng rng(5, {});
  constexpr int kDraws = 30000;
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t draw = rng.below(kBound);
    ++thirds[draw >> 62];
    ++residues[draw % 3];
  }
  EXPECT(chi_square(thirds, kDraws / 3.0) < 20);
  EXPECT(chi_square(residues, kDraws / 3.0) < 20);
}

TEST(uniform_draws_lie_in_the_unit_interval) {
  Rng rng(11, {});
  std::vector<int> counts(100, 0);
  for (int i = 0; i < 100000; ++i) {
    const double draw = rng.uniform();
    EXPECT(draw >= 0 && draw < 1);
    ++counts[static_cast<std::size_t>(draw * 100)];
  }
  EXPECT(chi_square(counts, 1000) < 99 + 5 * std::sqrt(2 * 99.0));
}

}  // namespace
}  // namespace gz
