// The loop of all walks: groups of walkers take a step together and wait for memory together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/random.h"
#include "core/store/ahead.h"
#include "core/walk/random_walk.h"
#include "core/walk/uniform.h"
#include "core/walk/walkers.h"
#include "core/walk/weighted.h"

namespace gz {

// One policy for all steps: nodes are of one kind, and a walk stands still at a dead end.
template <class Policy>
class SameEveryStep {
 public:
  using Scratch = typename Policy::Scratch;
  static constexpr bool kOneKind = true;

  explicit SameEveryStep(Policy policy) : policy_(std::move(policy)) {}

  template <class Body>
  void at(std::uint64_t, Body&& body) const {
    body(policy_);
  }
  bool may_restart(std::uint64_t) const { return true; }
  Warmth& warmth() const { return policy_.index().graph().warmth(); }

 private:
  Policy policy_;
};

// Step s follows the (s mod length)-th relation. Behind a dead end a walk is over: the next column
// is for nodes of another kind, among which standing still would name a wrong one.
class Metapath {
 public:
  using Scratch = WeightedScratch;
  static constexpr bool kOneKind = false;
  using AnyPolicy = std::variant<Uniform<std::int32_t>, Uniform<std::int64_t>,
                                 Weighted<std::int32_t>, Weighted<std::int64_t>>;
  struct Relation {
    AnyPolicy policy;
    bool leads_home;
  };

  explicit Metapath(std::vector<Relation> relations) : relations_(std::move(relations)) {}

  template <class Body>
  void at(std::uint64_t step, Body&& body) const {
    std::visit(body, relations_[step % relations_.size()].policy);
  }
  bool may_restart(std::uint64_t step) const {
    return relations_[step % relations_.size()].leads_home;
  }
  // One for all: it counts the faults of the thread, whichever file they were on.
  Warmth& warmth() const {
    return std::visit([](const auto& policy) -> Warmth& { return policy.index().graph().warmth(); },
                      relations_.front().policy);
  }

 private:
  std::vector<Relation> relations_;
};

template <class Path>
class Engine {
 public:
  // `out` has starts.size() rows of options.length + 1 nodes.
  Engine(const Path& path, std::span<const NodeId> starts, const WalkOptions& options, NodeId* out)
      : path_(path),
        starts_(starts),
        options_(options),
        key_(options.seed, Purpose::kWalks),
        columns_(options.length + 1),
        out_(out) {}

  // Long walks are cut into rounds of steps, so that no chunk is long and Ctrl-C is heard.
  void run() const {
    if (starts_.empty()) return;
    const auto threads = static_cast<std::size_t>(num_threads());
    const std::size_t wished = starts_.size() / (8 * threads) / kGroup * kGroup;
    const std::size_t grain = std::clamp(wished, kGroup, kLargeGroup);
    const std::uint64_t round = kChunkSteps / grain;
    std::uint64_t first = 0;
    do {
      const std::uint64_t last = std::min(first + round, options_.length);
      parallel_chunks(starts_.size(), grain, [&](std::size_t begin, std::size_t end) {
        walk_chunk(begin, end, first, last);
      });
      check_interrupt();
      first += round;
    } while (first < options_.length);
  }

 private:
  // Enough walkers to have as many cache misses at once as a core can; their state is in its L1.
  static constexpr std::size_t kGroup = 32;
  // Enough to keep a device busy.
  static constexpr std::size_t kLargeGroup = 2048;
  // Milliseconds in memory, a second or two from a device.
  static constexpr std::uint64_t kChunkSteps = 1 << 17;
  // Reads before warmth is looked at: counting faults is a system call, and must cost little beside
  // them. The first look comes early, because faults without requests are what costs most.
  static constexpr std::uint64_t kStretchReads = 1 << 13;
  static constexpr std::uint64_t kFirstReads = 128;
  static constexpr std::uint64_t kStretchSteps = 32;

  // Walkers that take their steps together, and what these need room for.
  struct Group {
    std::size_t begin = 0;  // the first walker's walk
    Walkers walkers;
    std::vector<std::uint32_t> moving;
    typename Path::Scratch scratch;
  };

  NodeId* row(std::size_t walk) const { return out_ + walk * columns_; }

  bool restarts(Rng& rng, std::uint64_t step) const {
    return options_.restart > 0 && path_.may_restart(step) && rng.uniform() < options_.restart;
  }

  // Steps first … last-1 of walks begin … end-1.
  void walk_chunk(std::size_t begin, std::size_t end, std::uint64_t first,
                  std::uint64_t last) const {
    Group group;
    Warmth& warmth = path_.warmth();
    Warmth::Stretch stretch(warmth);
    std::uint64_t reads = 0, enough = kFirstReads;
    for (std::size_t at = begin, group_end = begin; at < end; at = group_end) {
      bool cold = warmth.cold();
      group_end = cold ? end : std::min(at + kGroup, end);
      place(group, at, group_end, first);
      const std::uint64_t step_reads = 2 * (group_end - at);
      for (std::uint64_t step = first, stop = first; step < last; step = stop) {
        stop = std::min({step + kStretchSteps, step + 1 + enough / step_reads, last});
        walk_stretch(group, step, stop, cold);
        reads += step_reads * (stop - step);
        if (reads < enough) continue;
        stretch.end(reads);
        check_interrupt();
        cold = warmth.cold();
        reads = 0;
        enough = kStretchReads;
      }
    }
  }

  // Puts walkers where walks begin … end-1 stand before step `first`. What earlier rounds did is
  // read from their rows.
  void place(Group& group, std::size_t begin, std::size_t end, std::uint64_t first) const {
    Walkers& walkers = group.walkers;
    walkers.resize(end - begin);
    group.moving.resize(end - begin);
    group.begin = begin;
    for (std::size_t i = 0; i < walkers.size(); ++i) {
      NodeId* const nodes = row(begin + i);
      walkers.key[i] = key_.with(begin + i);
      walkers.start[i] = starts_[begin + i];
      walkers.previous[i] = kNowhere;
      if (first == 0) {
        nodes[0] = walkers.start[i];
      } else {
        Rng rng(walkers.key[i].with(first - 1));
        if (!restarts(rng, first - 1)) walkers.previous[i] = nodes[first - 1];
      }
      walkers.node[i] = nodes[first];
    }
  }

  void walk_stretch(Group& group, std::uint64_t first, std::uint64_t last, bool cold) const {
    for (std::uint64_t step = first; step < last; ++step) {
      path_.at(step, [&](const auto& policy) {
        const MappedFile& mapping = *policy.index().graph().mapping();
        if (cold) {
          advance(policy, group, step, step == first, Pages(mapping));
        } else {
          advance(policy, group, step, step == first, CacheLines(mapping));
        }
      });
    }
  }

  // One step of every walker; `fresh` if what it reads first has not been asked for.
  template <class Policy, class Ahead>
  void advance(const Policy& policy, Group& group, std::uint64_t step, bool fresh,
               Ahead ahead) const {
    if constexpr (Policy::kAtOnce) {
      advance_at_once(policy, group, step, fresh, ahead);
    } else {
      advance_by_parts(policy, group, step, ahead);
    }
  }

  // Two loops and next to no state between them: what is left is waiting for memory.
  template <class Policy, class Ahead>
  void advance_at_once(const Policy& policy, Group& group, std::uint64_t step, bool fresh,
                       Ahead& ahead) const {
    const auto& index = policy.index();
    Walkers& walkers = group.walkers;
    NodeId* const column = row(group.begin) + step + 1;
    if (fresh || Ahead::kPages || !Path::kOneKind) {
      for (std::size_t i = 0; i < walkers.size(); ++i) {
        if (walkers.node[i] != kNowhere) ahead.want(index.offset_of(walkers.node[i]));
      }
      ahead.flush();
    }
    for (std::size_t i = 0; i < walkers.size(); ++i) {
      walkers.position[i] = kDeadEnd;
      if (walkers.node[i] == kNowhere) continue;
      Rng rng(walkers.key[i].with(step));
      if (restarts(rng, step)) {
        walkers.position[i] = kRestart;
        continue;
      }
      walkers.position[i] = policy.choose(walkers.node[i], rng);
      if (walkers.position[i] != kDeadEnd) ahead.want(index.entry(walkers.position[i]));
    }
    ahead.flush();
    for (std::size_t i = 0; i < walkers.size(); ++i) {
      if (walkers.position[i] >= 0) {
        walkers.node[i] = index.neighbor(walkers.position[i]);
      } else if (walkers.position[i] == kRestart) {
        walkers.node[i] = walkers.start[i];
      } else if (!Path::kOneKind) {
        walkers.node[i] = kNowhere;
      }
      // The next step reads the same index: what it wants first can be on its way already.
      if (Path::kOneKind) index.prefetch_range(walkers.node[i]);
      column[i * columns_] = walkers.node[i];
    }
  }

  template <class Policy, class Ahead>
  void advance_by_parts(const Policy& policy, Group& group, std::uint64_t step,
                        Ahead& ahead) const {
    const auto& index = policy.index();
    Walkers& walkers = group.walkers;
    NodeId* const column = row(group.begin) + step + 1;
    std::size_t count = 0;
    for (std::size_t i = 0; i < walkers.size(); ++i) {
      const NodeId node = walkers.node[i];
      if (node == kNowhere) {
        column[i * columns_] = kNowhere;
        continue;
      }
      walkers.rng[i] = Rng(walkers.key[i].with(step));
      if (restarts(walkers.rng[i], step)) {
        column[i * columns_] = walkers.node[i] = walkers.start[i];
        walkers.previous[i] = kNowhere;
        continue;
      }
      ahead.want(index.offset_of(node));
      group.moving[count++] = static_cast<std::uint32_t>(i);
    }
    ahead.flush();
    const Chosen moving(group.moving.data(), count);
    policy.choose(walkers, moving, group.scratch, ahead);
    for (const std::uint32_t i : moving) {
      if (walkers.position[i] != kDeadEnd) {
        walkers.previous[i] = walkers.node[i];
        walkers.node[i] = index.neighbor(walkers.position[i]);
        // The next step reads the same index: what it wants first can be on its way already.
        if (Path::kOneKind) index.prefetch_range(walkers.node[i]);
      } else if (!Path::kOneKind) {
        walkers.node[i] = kNowhere;
      }
      column[i * columns_] = walkers.node[i];
    }
  }

  const Path& path_;
  std::span<const NodeId> starts_;
  const WalkOptions& options_;
  Key key_;
  std::uint64_t columns_;
  NodeId* out_;
};

}  // namespace gz
