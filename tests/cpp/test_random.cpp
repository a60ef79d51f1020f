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

TEST(a_key_grows_word_by_word) {
  EXPECT(Key(42, {3, 7}).state() == Key(42, {3}).with(7).state());
  EXPECT(Key(42, Purpose::kNegatives).state() == Key(42, {3}).state());
  EXPECT(Key(42, Purpose::kNegatives).with(7).state() == 12335244430711630163u);
  EXPECT(Key(0, Purpose::kNeighbors).state() == 627405149472732430u);
  EXPECT(Key(0, Purpose::kWalks).state() == 15549969042648332857u);
}

TEST(exponential_draws_have_the_bits_we_publish) {
  Rng rng(42, {7});
  EXPECT(rng.exponential() == 0x1.1803cff8cbb0ep+0);
  EXPECT(rng.exponential() == 0x1.e7755f8cd859fp-1);
  EXPECT(rng.exponential() == 0x1.2be3edbc93cedp-1);
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

TEST(exponential_draws_follow_their_law) {
  // In twenty intervals of equal probability, and with mean 1 and variance 1.
  constexpr int kDraws = 200000;
  Rng rng(13, {});
  std::vector<int> counts(20, 0);
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double draw = rng.exponential();
    EXPECT(draw > 0 && draw < 38);
    sum += draw;
    squares += (draw - 1) * (draw - 1);
    ++counts[static_cast<std::size_t>(-std::expm1(-draw) * 20)];
  }
  EXPECT(std::abs(sum / kDraws - 1) < 5 / std::sqrt(kDraws));
  EXPECT(std::abs(squares / kDraws - 1) < 5 * std::sqrt(8.0 / kDraws));
  EXPECT(chi_square(counts, kDraws / 20.0) < 19 + 5 * std::sqrt(2 * 19.0));
}

TEST(the_extreme_exponential_draws_are_neither_zero_nor_infinite) {
  // Seeds whose first draw has all bits set, and none.
  EXPECT(Rng(2295574122455614247u, {}).next() == ~std::uint64_t{0});
  EXPECT(Rng(14258097010372255221u, {}).next() == 0);
  EXPECT(Rng(2295574122455614247u, {}).exponential() == 0x1.0000000000001p-52);
  EXPECT(Rng(14258097010372255221u, {}).exponential() == 0x1.2b708872320e2p+5);  // 54 ln 2
}

}  // namespace
}  // namespace gz
