#include "core/sample/negative.h"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <string>

#include "core/base/checked.h"
#include "core/base/dispatch.h"
#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/base/random.h"
#include "core/sample/negative_laws.h"
#include "core/store/adjacency.h"

namespace gz {
namespace {

// Asking how much memory there is takes longer than a small job itself.
void require_room(std::uint64_t bytes, const std::string& job) {
  if (bytes >= (1 << 20)) require_memory(bytes, job);
}

// Refuses nothing.
struct NoRefusal {
  void test(std::span<const Draw> draws, std::uint8_t* refused) const {
    std::fill_n(refused, draws.size(), std::uint8_t{0});
  }
};

// Refuses a destination that the draw's own source has an edge to.
template <class Id>
class EdgeRefusal {
 public:
  explicit EdgeRefusal(const Topology& graph) : lookup_(graph) {}

  void test(std::span<const Draw> draws, std::uint8_t* refused) const {
    std::array<NodeId, kDrawGroup> src, dst;
    for (std::size_t i = 0; i < draws.size(); ++i) {
      src[i] = draws[i].src;
      dst[i] = draws[i].dst;
    }
    lookup_.test({src.data(), draws.size()}, {dst.data(), draws.size()}, refused);
  }

 private:
  EdgeLookup<Id> lookup_;
};

// Whether any of `sources`, sorted and without repeats, has an edge to `dst`. Needs the in index.
template <class Id>
bool any_points_to(const EdgeLookup<Id>& lookup, std::span<const NodeId> sources, NodeId dst) {
  const IndexReader<Id>& in = *lookup.backward();
  const EdgeRange list = in.edges_of(dst);
  // The shorter side is gone through, the longer one searched.
  if (lookup.in_order() && sources.size() < static_cast<std::size_t>(list.size())) {
    return std::any_of(sources.begin(), sources.end(),
                       [&](NodeId source) { return EdgeLookup<Id>::holds(in, list, source); });
  }
  for (EdgeId at = list.begin; at < list.end; ++at) {
    if (std::binary_search(sources.begin(), sources.end(), in.neighbor(at))) return true;
  }
  return false;
}

// The destinations that `sources`, sorted and without repeats, have edges to; sorted and without
// repeats as well.
template <class Id>
std::vector<NodeId> destinations_of(const Topology& graph, std::span<const NodeId> sources) {
  std::vector<NodeId> found;
  if (!graph.has(Direction::kOut)) {
    const EdgeLookup<Id> lookup(graph);
    for (NodeId dst = 0; dst < graph.num_nodes(Direction::kIn); ++dst) {
      if (dst % (1 << 16) == 0) check_interrupt();
      if (any_points_to(lookup, sources, dst)) found.push_back(dst);
    }
    return found;
  }
  const IndexReader<Id> index(graph, Direction::kOut);
  EdgeId total = 0;
  for (const NodeId source : sources) {
    total += index.edges_of(source).size();
    if (total > graph.num_edges()) {
      graph.mapping()->check_intact();
      throw FormatError(graph.path(), "corrupt indptr: expected lists that do not overlap, found ",
                        "more than ", graph.num_edges(), " entries in some of them");
    }
  }
  require_room(static_cast<std::uint64_t>(total) * sizeof(NodeId),
               concat(graph.path(), ": collecting the neighbours of ", sources.size(), " nodes"));
  found.reserve(static_cast<std::size_t>(total));
  for (const NodeId source : sources) {
    const EdgeRange list = index.edges_of(source);
    for (EdgeId at = list.begin; at < list.end; ++at) found.push_back(index.neighbor(at));
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// Refuses a destination that any of many sources has an edge to. Without an in index it collects
// what they have edges to: their lists would be searched one by one for every draw otherwise.
template <class Id>
class SharedRefusal {
 public:
  // `sources` must be sorted and without repeats, and outlive this.
  SharedRefusal(const Topology& graph, std::span<const NodeId> sources)
      : lookup_(graph), sources_(sources) {
    if (lookup_.backward() == nullptr) collected_ = destinations_of<Id>(graph, sources);
  }

  void test(std::span<const Draw> draws, std::uint8_t* refused) const {
    for (std::size_t i = 0; i < draws.size(); ++i) refused[i] = refuses(draws[i].dst);
  }

 private:
  bool refuses(NodeId dst) const {
    if (lookup_.backward() != nullptr) return any_points_to(lookup_, sources_, dst);
    return std::binary_search(collected_.begin(), collected_.end(), dst);
  }

  EdgeLookup<Id> lookup_;
  std::span<const NodeId> sources_;
  std::vector<NodeId> collected_;
};

// Proposes and tests until every draw has a pair that is not refused, and delivers it. A draw that
// has used up its tries gets its pair from exact(draw).
template <class Propose, class Refusal, class Exact, class Deliver>
void settle(std::vector<Draw>& pending, std::uint64_t tries, const Propose& propose,
            const Refusal& refusal, const Exact& exact, const Deliver& deliver) {
  std::array<std::uint8_t, kDrawGroup> refused;
  for (std::uint64_t round = 0; !pending.empty(); ++round) {
    if (round % 64 == 63) check_interrupt();
    if (round == tries) {
      for (Draw& draw : pending) {
        exact(draw);
        deliver(draw);
      }
      return;
    }
    propose(std::span(pending));
    refusal.test(pending, refused.data());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < pending.size(); ++i) {
      if (refused[i] != 0)
        pending[kept++] = pending[i];
      else
        deliver(pending[i]);
    }
    pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(kept), pending.end());
  }
}

// Calls fill(refusal): `make`() if edges are excluded.
template <class Make, class Fill>
void with_refusal(const NegativeOptions& options, const Make& make, const Fill& fill) {
  options.exclude_edges ? fill(make()) : fill(NoRefusal());
}

// Calls settle_group(pending) for groups of draws 0 … count-1, on all threads. start(i) makes draw
// i; each chunk has its own settle_group = make_settle().
template <class Start, class MakeSettle>
void draw_all(std::size_t count, const Start& start, const MakeSettle& make_settle) {
  // Some ten microseconds of work: less is not worth a thread, and Ctrl-C waits for a chunk to end.
  constexpr std::size_t kGrain = 16 * kDrawGroup;
  parallel_chunks(count, kGrain, [&](std::size_t begin, std::size_t end) {
    auto settle_group = make_settle();
    std::vector<Draw> pending;
    pending.reserve(kDrawGroup);
    for (; begin < end; begin += kDrawGroup) {
      pending.clear();
      for (std::size_t i = begin; i < std::min(begin + kDrawGroup, end); ++i)
        pending.push_back(start(i));
      settle_group(pending);
    }
  });
}

// What messages call the place that nodes are drawn from.
std::string place_of(const NegativeEnds& ends) {
  return ends.graph != nullptr ? ends.graph->path() : "links";
}

// Calls body<Id>(), under the guard of the graph if there is one.
template <class Body>
void with_graph(const NegativeEnds& ends, Body&& body) {
  if (ends.graph == nullptr) return body.template operator()<std::int64_t>();
  guarded(*ends.graph->mapping(),
          [&] { with_id_type(ends.graph->layout().id_width, std::forward<Body>(body)); });
}

// Calls body(law) with the law for one end of a pair. Throws std::invalid_argument if it could
// draw nothing.
template <class Id, class Body>
void with_law(const NegativeEnds& ends, const NegativeOptions& options, Direction side,
              Body&& body) {
  const EndLaw& end = side == Direction::kOut ? options.src : options.dst;
  check_weights(ends, end, side);
  switch (end.by) {
    case NegativeLaw::kUniform:
      if (ends.num_nodes(side) == 0)
        throw std::invalid_argument(concat(place_of(ends), ": has no nodes to draw from"));
      return body(UniformLaw(ends.num_nodes(side)));
    case NegativeLaw::kDegree:
      if (ends.graph->num_edges() == 0) {
        throw std::invalid_argument(
            concat(place_of(ends), ": has no edges, and by=\"degree\" draws nodes that have some"));
      }
      return body(DegreeLaw<Id>(*ends.graph, side, options.power));
    case NegativeLaw::kWeights:
      return body(WeightLaw(*end.weights));
  }
}

void check_power(double power) {
  if (!(power > 0 && power <= 1))
    throw std::invalid_argument(concat("power: expected above 0 and at most 1, found ", power));
}

// How many nodes `rows` times `columns` are. Throws MemoryShortage if there is no room for them.
std::size_t count_nodes(std::uint64_t rows, std::uint64_t columns, const char* name) {
  const std::string job = concat(name, ": drawing ", rows, " times ", columns, " nodes");
  const auto count = checked_mul(rows, columns);
  const auto bytes = count ? checked_mul(*count, sizeof(NodeId)) : std::nullopt;
  if (!bytes) throw MemoryShortage(concat(job, " needs more memory than can be addressed"));
  require_room(*bytes, job);
  return *count;
}

// Fills rows of `amount` destinations. source_of(row) is the source a row belongs to,
// refused_by(row) what it must not get, and no_choice(row) throws because that is everything.
template <class Law, class Refusal, class SourceOf, class RefusedBy, class NoChoice>
void fill_rows(std::vector<NodeId>& result, std::size_t amount, std::uint64_t seed, const Law& law,
               const Refusal& refusal, const SourceOf& source_of, const RefusedBy& refused_by,
               const NoChoice& no_choice) {
  const Key key(seed, Purpose::kNegatives);
  const std::uint64_t tries = max_tries(static_cast<std::uint64_t>(law.num_nodes()));
  const auto start = [&](std::size_t i) {
    const std::size_t row = i / amount;
    return Draw{Rng(key.with(row).with(i % amount)), i, source_of(row)};
  };
  draw_all(result.size(), start, [&] {
    // What the last row that ran out of tries must not get: its other draws may want it too.
    return [&, row = result.size(),
            refused = std::vector<NodeId>()](std::vector<Draw>& pending) mutable {
      settle(
          pending, tries, [&](std::span<Draw> draws) { law.draw(draws, &Draw::dst); }, refusal,
          [&](Draw& draw) {
            if (row != draw.slot / amount) {
              row = draw.slot / amount;
              refused = refused_by(row);
            }
            const auto found = law.draw_outside(refused, draw.rng);
            if (!found) no_choice(row);
            draw.dst = *found;
          },
          [&](const Draw& draw) { result[draw.slot] = draw.dst; });
    };
  });
}

}  // namespace

void check_weights(const NegativeEnds& ends, const EndLaw& law, Direction side) {
  if (law.by != NegativeLaw::kWeights || law.weights->num_nodes() == ends.num_nodes(side)) return;
  throw std::invalid_argument(concat(law.weights->name(), ": expected ", ends.num_nodes(side),
                                     " weights, one for each ",
                                     side == Direction::kOut ? "source" : "destination", " of ",
                                     place_of(ends), ", found ", law.weights->num_nodes()));
}

std::vector<NodeId> sample_negatives(const NegativeEnds& ends, std::span<const NodeId> sources,
                                     std::uint64_t amount, const NegativeOptions& options) {
  check_power(options.power);
  if (ends.graph != nullptr) check_nodes(*ends.graph, sources, ends.num_src, "sources");
  std::vector<NodeId> result(count_nodes(sources.size(), amount, "sample_negatives"));
  if (result.empty()) return result;
  with_graph(ends, [&]<class Id>() {
    with_law<Id>(ends, options, Direction::kIn, [&](const auto& law) {
      // What refused_by and no_choice tell of the graph is asked for if edges are excluded.
      const auto fill = [&](const auto& refusal) {
        fill_rows(
            result, amount, options.seed, law, refusal,
            [&](std::size_t row) { return sources[row]; },
            [&](std::size_t row) {
              return destinations_of<Id>(*ends.graph, sources.subspan(row, 1));
            },
            [&](std::size_t row) {
              throw std::invalid_argument(
                  concat("sources[", row, "]: node ", sources[row], " of ", place_of(ends),
                         " has an edge to every ", law.kDestination,
                         ": expected one to be left; leave the source out, or allow edges"));
            });
      };
      with_refusal(options, [&] { return EdgeRefusal<Id>(*ends.graph); }, fill);
    });
  });
  return result;
}

std::vector<NodeId> sample_shared_negatives(const Topology& graph, std::span<const NodeId> sources,
                                            std::uint64_t amount, const NegativeOptions& options) {
  check_power(options.power);
  check_nodes(graph, sources, graph.num_nodes(Direction::kOut), "sources");
  std::vector<NodeId> result(count_nodes(1, amount, "sample_negatives"));
  if (result.empty()) return result;
  std::vector<NodeId> distinct;
  if (options.exclude_edges) {
    distinct.assign(sources.begin(), sources.end());
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  }
  with_graph(graph, [&]<class Id>() {
    with_law<Id>(graph, options, Direction::kIn, [&](const auto& law) {
      const auto fill = [&](const auto& refusal) {
        fill_rows(
            result, amount, options.seed, law, refusal, [](std::size_t) { return NodeId{0}; },
            [&](std::size_t) { return destinations_of<Id>(graph, distinct); },
            [&](std::size_t) {
              throw std::invalid_argument(
                  concat("sources: together they have an edge in ", graph.path(), " to every ",
                         law.kDestination,
                         ": expected one to be left; give fewer sources, or allow edges"));
            });
      };
      with_refusal(options, [&] { return SharedRefusal<Id>(graph, distinct); }, fill);
    });
  });
  return result;
}

NodePairs sample_negative_pairs(const NegativeEnds& ends, std::uint64_t count,
                                const NegativeOptions& options) {
  check_power(options.power);
  count_nodes(count, 2, "sample_negative_pairs");
  NodePairs result = {std::vector<NodeId>(count), std::vector<NodeId>(count)};
  if (count == 0) return result;
  const Key key(options.seed, Purpose::kNegatives);
  with_graph(ends, [&]<class Id>() {
    with_law<Id>(ends, options, Direction::kOut, [&](const auto& src_law) {
      with_law<Id>(ends, options, Direction::kIn, [&](const auto& dst_law) {
        const std::uint64_t tries =
            max_tries(checked_mul(static_cast<std::uint64_t>(src_law.num_nodes()),
                                  static_cast<std::uint64_t>(dst_law.num_nodes()))
                          .value_or(std::numeric_limits<std::uint64_t>::max()));
        const auto propose = [&](std::span<Draw> draws) {
          src_law.draw(draws, &Draw::src);
          dst_law.draw(draws, &Draw::dst);
        };
        const auto exact = [&](Draw& draw) {
          Race race(draw.rng);
          bool any = false;
          src_law.for_each_outside({}, [&](NodeId src, double src_weight) {
            check_interrupt();
            const std::vector<NodeId> refused = destinations_of<Id>(*ends.graph, {&src, 1});
            dst_law.for_each_outside(refused, [&](NodeId dst, double dst_weight) {
              if (!race.enter(src_weight + dst_weight)) return;
              any = true;
              draw.src = src;
              draw.dst = dst;
            });
          });
          if (!any) {
            throw std::invalid_argument(concat(
                place_of(ends), ": each ", src_law.kSource, " has an edge to every ",
                dst_law.kDestination, ": expected a pair without an edge to be left; allow edges"));
          }
        };
        const auto deliver = [&](const Draw& draw) {
          result.src[draw.slot] = draw.src;
          result.dst[draw.slot] = draw.dst;
        };
        const auto fill = [&](const auto& refusal) {
          draw_all(
              count, [&](std::size_t i) { return Draw{Rng(key.with(i)), i}; },
              [&] {
                return [&](std::vector<Draw>& pending) {
                  settle(pending, tries, propose, refusal, exact, deliver);
                };
              });
        };
        with_refusal(options, [&] { return EdgeRefusal<Id>(*ends.graph); }, fill);
      });
    });
  });
  return result;
}

}  // namespace gz
