// The loop of all walks: groups of walkers take a step together and wait for memory together.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
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
  ColdDetector& cold_detector() const { return policy_.index().graph().cold_detector(); }

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
  ColdDetector& cold_detector() const {
    return std::visit(
        [](const auto& policy) -> ColdDetector& { return policy.index().graph().cold_detector(); },
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
    // Many chunks, so that no thread is long without work at the end; rounded up, because one more
    // than a multiple of the threads would cost a whole round of them.
    const std::size_t wished = starts_.size() / (32 * threads) / kGroup * kGroup + kGroup;
    const std::size_t grain = std::min(wished, kLargeGroup);
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
  // Walkers go through a stage in blocks, which was faster than one at a time. Between two stages
  // are as many blocks, or fewer in small groups: enough for what one asked for to be there when
  // the next one reads it (docs/design/walks.md).
  static constexpr std::size_t kBlock = 4;
  static constexpr std::size_t kMostLag = 3;
  // Enough to keep a device busy.
  static constexpr std::size_t kLargeGroup = 2048;
  // Milliseconds in memory, a second or two from a device.
  static constexpr std::uint64_t kChunkSteps = 1 << 17;
  // Reads before the detector is asked: counting faults is a system call, and must cost little
  // beside them. The first look comes early, because faults without requests are what costs most.
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
    ColdDetector& detector = path_.cold_detector();
    ColdDetector::Stretch stretch(detector);
    std::uint64_t reads = 0, enough = kFirstReads;
    for (std::size_t at = begin, group_end = begin; at < end; at = group_end) {
      bool cold = detector.cold();
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
        cold = detector.cold();
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
    group.scratch.make_room(end - begin);
    group.begin = begin;
    for (std::size_t i = 0; i < walkers.size(); ++i) {
      NodeId* const nodes = row(begin + i);
      walkers[i].key = key_.with(begin + i);
      walkers[i].start = starts_[begin + i];
      walkers[i].previous = kNowhere;
      if (first == 0) {
        nodes[0] = walkers[i].start;
      } else {
        Rng rng(walkers[i].key.with(first - 1));
        if (!restarts(rng, first - 1)) walkers[i].previous = nodes[first - 1];
      }
      walkers[i].node = nodes[first];
    }
  }

  void walk_stretch(Group& group, std::uint64_t first, std::uint64_t last, bool cold) const {
    if constexpr (Path::kOneKind) {
      if (!cold) {
        path_.at(first, [&](const auto& policy) { walk_in_memory(policy, group, first, last); });
        return;
      }
    }
    for (std::uint64_t step = first; step < last; ++step) {
      path_.at(step, [&](const auto& policy) {
        const MappedFile& mapping = *policy.index().graph().mapping();
        if (cold) {
          advance(policy, group, step, Pages(mapping));
        } else {
          advance(policy, group, step, CacheLines());
        }
      });
    }
  }

  // Steps first … last-1 of every walker.
  template <class Policy>
  void walk_in_memory(const Policy& policy, Group& group, std::uint64_t first,
                      std::uint64_t last) const {
    for (const Walker& walker : group.walkers) policy.index().prefetch_range(walker.node);
    if constexpr (Policy::kFirstOrder) {
      advance_in_turn(policy, group, first, last);
    } else {
      for (std::uint64_t step = first; step < last; ++step)
        advance_by_parts(policy, group, step, CacheLines());
    }
  }

  // A stage of the step of walker `i` that a policy of first order takes: 0 starts it, the last one
  // goes where it leads. Returns whether it is to be repeated.
  template <std::size_t kStage, class Policy, class Ahead>
  [[gnu::always_inline]] bool take_stage(const Policy& policy, Group& group, std::size_t i,
                                         std::uint64_t step, Ahead& ahead) const {
    Walkers& walkers = group.walkers;
    if constexpr (kStage == 0) {
      walkers[i].position = kDeadEnd;
      if (!Path::kOneKind && walkers[i].node == kNowhere) return false;
      Rng rng(walkers[i].key.with(step));
      if (restarts(rng, step)) {
        walkers[i].position = kRestart;
      } else {
        policy.start(walkers, i, rng, group.scratch, ahead);
      }
      return false;
    } else if constexpr (kStage <= Policy::kLooks) {
      return policy.template look<kStage - 1>(walkers, i, group.scratch, ahead);
    } else {
      const EdgeId position = policy.entry(walkers, i, group.scratch);
      NodeId node = walkers[i].node;
      if (position >= 0) {
        node = policy.index().neighbor(position);
      } else if (position == kRestart) {
        node = walkers[i].start;
      } else if (!Path::kOneKind) {
        node = kNowhere;
      }
      // The next step reads the same index: what it wants first can be on its way already.
      if (Path::kOneKind) policy.index().prefetch_range(node);
      walkers[i].node = node;
      row(group.begin + i)[step + 1] = node;
      return false;
    }
  }

  // One loop for all steps and all stages: when a few walkers have started their step, others some
  // places behind them go through the next stage, and so on. So the processor waits for reads of
  // all stages at once, and has something to compute meanwhile.
  template <class Policy>
  void advance_in_turn(const Policy& policy, Group& group, std::uint64_t first,
                       std::uint64_t last) const {
    constexpr std::size_t kStages = Policy::kLooks + 2;
    const std::size_t size = group.walkers.size();
    const std::size_t blocks = (size + kBlock - 1) / kBlock;
    const std::uint64_t turns = (last - first) * blocks;
    // A step must have ended before the next one of its walker starts.
    const std::size_t lag = std::min(kMostLag, blocks / kStages);
    struct Turn {
      std::size_t begin;  // the block's first walker
      std::uint64_t step;
    };
    std::array<Turn, kStages> next;
    next.fill({0, first});
    CacheLines ahead;
    const auto take = [&]<std::size_t kStage>(std::uint64_t turn) {
      if (turn - kStage * lag >= turns) return;  // not yet, or no more
      auto& [begin, step] = next[kStage];
      const std::size_t end = std::min(begin + kBlock, size);
      for (std::size_t i = begin; i < end; ++i) take_stage<kStage>(policy, group, i, step, ahead);
      begin = end;
      if (end == size) {
        begin = 0;
        ++step;
      }
    };
    for (std::uint64_t turn = 0; turn < turns + (kStages - 1) * lag; ++turn) {
      [&]<std::size_t... kStage>(std::index_sequence<kStage...>) {
        (take.template operator()<kStage>(turn), ...);
      }(std::make_index_sequence<kStages>());
    }
  }

  // One step of every walker.
  template <class Policy, class Ahead>
  void advance(const Policy& policy, Group& group, std::uint64_t step, Ahead ahead) const {
    const Walkers& walkers = group.walkers;
    for (std::size_t i = 0; i < walkers.size(); ++i) {
      if (walkers[i].node != kNowhere) ahead.want(policy.index().offset_of(walkers[i].node));
    }
    ahead.flush();
    if constexpr (Policy::kFirstOrder) {
      advance_by_stages(policy, group, step, ahead);
    } else {
      advance_by_parts(policy, group, step, ahead);
    }
  }

  // All walkers go through a stage before the first one goes through the next.
  template <class Policy, class Ahead>
  void advance_by_stages(const Policy& policy, Group& group, std::uint64_t step,
                         Ahead& ahead) const {
    const auto take = [&]<std::size_t kStage>() {
      for (bool more = true; more;) {
        more = false;
        for (std::size_t i = 0; i < group.walkers.size(); ++i)
          more |= take_stage<kStage>(policy, group, i, step, ahead);
        ahead.flush();
      }
    };
    [&]<std::size_t... kStage>(std::index_sequence<kStage...>) {
      (take.template operator()<kStage>(), ...);
    }(std::make_index_sequence<Policy::kLooks + 2>());
  }

  // The same for a policy of second order.
  template <class Policy, class Ahead>
  void advance_by_parts(const Policy& policy, Group& group, std::uint64_t step,
                        Ahead&& ahead) const {
    const auto& index = policy.index();
    Walkers& walkers = group.walkers;
    NodeId* const column = row(group.begin) + step + 1;
    std::size_t count = 0;
    for (std::size_t i = 0; i < walkers.size(); ++i) {
      walkers[i].rng = Rng(walkers[i].key.with(step));
      if (restarts(walkers[i].rng, step)) {
        column[i * columns_] = walkers[i].node = walkers[i].start;
        walkers[i].previous = kNowhere;
        index.prefetch_range(walkers[i].node);
        continue;
      }
      group.moving[count++] = static_cast<std::uint32_t>(i);
    }
    const Chosen moving(group.moving.data(), count);
    policy.choose(walkers, moving, group.scratch, ahead);
    for (const std::uint32_t i : moving) {
      if (walkers[i].position != kDeadEnd) {
        walkers[i].previous = walkers[i].node;
        walkers[i].node = index.neighbor(walkers[i].position);
      }
      // The next step reads the same index: what it wants first can be on its way already.
      index.prefetch_range(walkers[i].node);
      column[i * columns_] = walkers[i].node;
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
