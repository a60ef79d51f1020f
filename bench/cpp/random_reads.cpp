// The limit of a graph in RAM: how many reads at random places of an array one machine finishes per
// second. random_reads BYTES THREADS … prints JSON, a rate for each number of threads. Every thread
// follows 32 chains of reads in turn: each place depends on what the chain's last read found, as in
// a sampler, and its line is fetched ahead while the other chains move.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <span>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kChains = 32;
constexpr std::uint32_t kRounds = 1 << 17;  // per thread and repetition: 4 M reads
constexpr std::uint32_t kOdd = 2654435769;  // 2^32 over the golden ratio

std::uint32_t mixed(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85ebca6b;
  x = (x ^ (x >> 13)) * 0xc2b2ae35;
  return x ^ (x >> 16);
}

std::uint32_t chase(std::span<const std::uint32_t> values, std::uint32_t seed) {
  const auto place = [&](std::uint32_t x) { return (std::uint64_t{x} * values.size()) >> 32; };
  std::array<std::uint64_t, kChains> at;
  for (std::uint32_t c = 0; c < kChains; ++c) at[c] = place(mixed(seed * 64 + c));
  for (std::uint32_t round = 1; round <= kRounds; ++round) {
    // The round is part of the next place, so no chain can fall into a short circle.
    for (std::uint64_t& here : at) {
      here = place(values[here] + round * kOdd);
      __builtin_prefetch(&values[here]);
    }
  }
  std::uint32_t sum = 0;
  for (const std::uint64_t here : at) sum += values[here];
  return sum;
}

// Reads per second, the best of 7 rounds.
double best_rate(std::span<const std::uint32_t> values, std::uint32_t threads, std::uint32_t& sum) {
  struct Run {
    Clock::time_point begin, end;
    std::uint32_t sum;
  };
  double best = 0;
  for (std::uint32_t repetition = 0; repetition < 7; ++repetition) {
    std::latch ready(threads);
    std::vector<Run> runs(threads);
    std::vector<std::jthread> workers;
    for (std::uint32_t t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        ready.arrive_and_wait();
        runs[t].begin = Clock::now();
        runs[t].sum = chase(values, repetition * threads + t);
        runs[t].end = Clock::now();
      });
    }
    workers.clear();
    // The workers' own clocks: this thread may get its core back only when they are done.
    const auto begin = std::ranges::min_element(runs, {}, &Run::begin)->begin;
    const std::chrono::duration<double> taken =
        std::ranges::max_element(runs, {}, &Run::end)->end - begin;
    best = std::max(best, double{kRounds} * kChains * threads / taken.count());
    for (const Run& run : runs) sum += run.sum;
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "random_reads BYTES THREADS …\n"), 2;
  const std::size_t count = std::strtoull(argv[1], nullptr, 10) / sizeof(std::uint32_t);
  if (count == 0 || count >> 32 != 0)
    return std::fprintf(stderr, "expected 4 bytes to 16 GiB\n"), 2;
  void* memory = mmap(nullptr, count * sizeof(std::uint32_t), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return std::perror("mmap"), 1;
  // A mapped file has pages of 4 kB; with larger ones the limit would not be the graph's.
  madvise(memory, count * sizeof(std::uint32_t), MADV_NOHUGEPAGE);
  const std::span values(static_cast<std::uint32_t*>(memory), count);
  {
    const std::size_t parts = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::jthread> writers;
    for (std::size_t p = 0; p < parts; ++p) {
      writers.emplace_back([=] {
        for (std::size_t i = count * p / parts; i < count * (p + 1) / parts; ++i)
          values[i] = mixed(static_cast<std::uint32_t>(i));
      });
    }
  }
  std::uint32_t sum = 0;
  std::printf("{\"bytes\": %zu, \"reads_per_second\": {", count * sizeof(std::uint32_t));
  for (int i = 2; i < argc; ++i) {
    const auto threads = static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 10));
    if (threads == 0) return std::fprintf(stderr, "expected a thread or more\n"), 2;
    std::printf("%s\"%u\": %.0f", i > 2 ? ", " : "", threads, best_rate(values, threads, sum));
  }
  std::printf("}, \"sum\": %u}\n", sum);
}
