#include "core/store/verify.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>

#include "core/base/checked.h"
#include "core/base/dispatch.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/base/random.h"
#include "core/store/features.h"
#include "core/store/id_dictionary.h"
#include "core/store/topology.h"

namespace gz {
namespace {

// Thrown by a check, caught by Verifier::check: what was found where.
struct Violation : std::runtime_error {
  template <class... Parts>
  explicit Violation(const Parts&... parts) : std::runtime_error(concat(parts...)) {}
};

class Verifier {
 public:
  Verifier(const MappedFile& mapping, VerifyProgress& progress)
      : mapping_(mapping), progress_(progress) {
    mapping_.advise(Advice::kSequential);
  }

  // True if it holds.
  bool check(std::string name, const std::function<void()>& body) {
    std::string problem;
    try {
      guarded(mapping_, body);
    } catch (const Violation& violation) {
      mapping_.check_intact();
      problem = violation.what();
    }
    const bool holds = problem.empty();
    checks_.push_back({std::move(name), std::move(problem)});
    return holds;
  }

  void check_sections(const std::vector<Section>& sections,
                      std::string (*name)(std::uint32_t kind)) {
    if (sections.empty()) return;
    for (const Section& section : sections) {
      check(concat("checksum of ", name(section.kind)), [&] {
        const std::uint64_t found = checksum(section);
        if (found != section.checksum) {
          throw Violation("expected ", section.checksum, ", found ", found,
                          ": the bytes changed since they were written");
        }
      });
    }
    check("zeros between the sections", [&] {
      for (const Section& section : sections) {
        const std::uint64_t end = section.offset + section.length;
        for (std::uint64_t at = end; at < *checked_round_up(end, kPage); ++at) {
          if (mapping_.data()[at] != std::byte{0}) throw Violation("byte ", at, " is not zero");
        }
      }
    });
  }

  std::vector<Check> take() { return std::move(checks_); }

 private:
  std::uint64_t checksum(const Section& section) const {
    constexpr std::uint64_t kStep = 8 << 20;
    Xxh64 hash;
    for (std::uint64_t done = 0; done < section.length; done += kStep) {
      const std::uint64_t count = std::min(kStep, section.length - done);
      hash.update({mapping_.data() + section.offset + done, count});
      progress_.bytes += count;
      check_interrupt();
    }
    return hash.digest();
  }

  const MappedFile& mapping_;
  VerifyProgress& progress_;
  std::vector<Check> checks_;
};

// Sums of hashes over the entries of an index. Two indexes hold the same edges exactly if their
// sums agree, up to odds of 2^-64 that no accident meets; this takes no memory, unlike a bitmap of
// edges.
struct EdgeSums {
  std::uint64_t edges = 0;     // of (source, destination, edge id, weight, time)
  std::uint64_t reversed = 0;  // the same with the ends exchanged
  std::uint64_t edge_ids = 0;  // of the edge id alone
};

std::uint64_t hash_edge_id(std::uint64_t id) { return mix64(id + kGoldenGamma); }

class IndexScan {
 public:
  IndexScan(const Topology& graph, Direction direction, VerifyProgress& progress)
      : graph_(graph),
        progress_(progress),
        direction_(direction),
        index_(graph.index(direction)),
        name_(direction_name(direction)) {}

  void check_indptr() const {
    const auto& indptr = index_.indptr;
    if (indptr[0] != 0) throw Violation(name_, "_indptr[0]: expected 0, found ", indptr[0]);
    parallel_chunks(indptr.size() - 1, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v) {
        if (indptr[v + 1] < indptr[v]) {
          throw Violation(name_, "_indptr[", v + 1, "]: expected at least ", indptr[v], ", found ",
                          indptr[v + 1]);
        }
      }
    });
    if (indptr.back() != graph_.num_edges()) {
      throw Violation(name_, "_indptr[", indptr.size() - 1, "]: expected the edge count ",
                      graph_.num_edges(), ", found ", indptr.back());
    }
  }

  EdgeSums check_lists() const {
    return with_id_type(graph_.layout().id_width, [&]<class Id>() {
      return with_id_type(graph_.layout().edge_id_width,
                          [&]<class StoredEdgeId>() { return check_lists_of<Id, StoredEdgeId>(); });
    });
  }

 private:
  static constexpr std::size_t kGrain = 1
                                        << 14;  // nodes a chunk: some 10^5 edges on ordinary graphs

  template <class Id, class StoredEdgeId>
  EdgeSums check_lists_of() const {
    const auto* const ids = reinterpret_cast<const Id*>(index_.indices);
    const auto* const edge_ids = reinterpret_cast<const StoredEdgeId*>(index_.edge_ids);
    const auto num_neighbors = static_cast<std::uint64_t>(graph_.num_neighbor_nodes(direction_));
    const std::uint64_t num_edge_ids = graph_.layout().num_input_edges;
    const std::size_t entry_bytes = sizeof(Id) + (edge_ids == nullptr ? 0 : sizeof(StoredEdgeId)) +
                                    (index_.weights.empty() ? 0 : sizeof index_.weights[0]) +
                                    (index_.times.empty() ? 0 : sizeof index_.times[0]);
    std::atomic<std::uint64_t> edges{0}, reversed{0}, edge_id_sum{0};

    parallel_chunks(
        static_cast<std::size_t>(graph_.num_nodes(direction_)), kGrain,
        [&](std::size_t begin, std::size_t end) {
          EdgeSums sums;
          for (std::size_t v = begin; v < end; ++v) {
            const auto last = static_cast<std::size_t>(index_.indptr[v + 1]);
            double weight_sum = 0;
            for (auto e = static_cast<std::size_t>(index_.indptr[v]); e < last; ++e) {
              const auto id = static_cast<std::uint64_t>(ids[e]);
              if (id >= num_neighbors) {
                throw Violation(name_, "_indices[", e, "] of node ", v, ": expected an id below ",
                                num_neighbors, ", found ", ids[e]);
              }
              const auto edge_id =
                  edge_ids == nullptr ? e : static_cast<std::uint64_t>(edge_ids[e]);
              if (edge_id >= num_edge_ids) {
                throw Violation(name_, "_edge_ids[", e, "]: expected an id below ", num_edge_ids,
                                ", found ", static_cast<std::int64_t>(edge_id));
              }
              if (!index_.weights.empty()) {
                check_weight(e);
                if (!index_.weight_sums.empty() && e % kWeightStride == 0)
                  check_weight_sum(e, weight_sum);
                weight_sum += index_.weights[e];
              }
              if (graph_.layout().sorted && e + 1 < last) check_order(ids, edge_ids, e);
              add(sums, v, id, edge_id, e);
            }
          }
          edges += sums.edges;
          reversed += sums.reversed;
          edge_id_sum += sums.edge_ids;
          progress_.bytes +=
              static_cast<std::uint64_t>(index_.indptr[end] - index_.indptr[begin]) * entry_bytes;
        });
    return {edges, reversed, edge_id_sum};
  }

  void check_weight(std::size_t e) const {
    const float weight = index_.weights[e];
    if (!(std::isfinite(weight) && weight >= 0)) {
      throw Violation(name_, "_weights[", e,
                      "]: expected a finite number that is not negative, found ", weight);
    }
  }

  void check_weight_sum(std::size_t e, double sum) const {
    const std::size_t item = e / kWeightStride;
    const double stored = index_.weight_sums[item];
    // By their bits: -0.0 equals 0.0, and is not what adding up gives.
    if (std::bit_cast<std::uint64_t>(stored) != std::bit_cast<std::uint64_t>(sum)) {
      throw Violation(name_, "_weight_sums[", item, "]: expected ", sum,
                      ", the weights before entry ", e, " of its list, found ", stored);
    }
  }

  // Lists are ordered by (time, neighbour, edge id), or without times by (neighbour, edge id).
  template <class Id, class StoredEdgeId>
  void check_order(const Id* ids, const StoredEdgeId* edge_ids, std::size_t e) const {
    if (!index_.times.empty()) {
      if (index_.times[e] > index_.times[e + 1]) {
        throw Violation(name_, "_times[", e + 1, "]: expected at least ", index_.times[e],
                        ", found ", index_.times[e + 1]);
      }
      if (index_.times[e] < index_.times[e + 1]) return;
    }
    if (ids[e] > ids[e + 1]) {
      throw Violation(name_, "_indices[", e + 1, "]: expected at least ", ids[e], ", found ",
                      ids[e + 1]);
    }
    if (ids[e] == ids[e + 1] && edge_ids != nullptr && edge_ids[e] > edge_ids[e + 1]) {
      throw Violation(name_, "_edge_ids[", e + 1, "]: expected at least ", edge_ids[e], ", found ",
                      edge_ids[e + 1]);
    }
  }

  void add(EdgeSums& sums, std::uint64_t node, std::uint64_t neighbor, std::uint64_t edge_id,
           std::size_t e) const {
    std::uint64_t rest = hash_edge_id(edge_id);
    sums.edge_ids += rest;
    if (!index_.weights.empty())
      rest = mix64(rest + std::bit_cast<std::uint32_t>(index_.weights[e]));
    if (!index_.times.empty()) rest = mix64(rest + static_cast<std::uint64_t>(index_.times[e]));
    const std::uint64_t forward = mix64(mix64(rest + node) ^ neighbor);
    const std::uint64_t backward = mix64(mix64(rest + neighbor) ^ node);
    sums.edges += direction_ == Direction::kOut ? forward : backward;
    sums.reversed += direction_ == Direction::kOut ? backward : forward;
  }

  const Topology& graph_;
  VerifyProgress& progress_;
  Direction direction_;
  const Index& index_;
  std::string name_;
};

void check_edge_ids(const GlLayout& layout, const EdgeSums& sums) {
  // With duplicates or self-loops removed, which ids are missing is not recorded.
  const std::uint64_t times_each = layout.directed ? 1 : 2;
  if (layout.num_edges != times_each * layout.num_input_edges) return;
  std::atomic<std::uint64_t> expected{0};
  parallel_chunks(layout.num_input_edges, 1 << 20, [&](std::size_t begin, std::size_t end) {
    std::uint64_t sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += hash_edge_id(i);
    expected += sum;
  });
  if (times_each * expected != sums.edge_ids) {
    throw Violation("expected each edge id from 0 to ", layout.num_input_edges - 1, " to appear ",
                    times_each == 1 ? "once" : "twice", ", found some missing and some repeated");
  }
}

// One bit per row.
template <class Id>
void check_permutation(std::span<const Id> places) {
  const std::size_t count = places.size();
  require_memory(count / 8, "proving a row map");
  std::vector<bool> taken(count);
  for (std::size_t id = 0; id < count; ++id) {
    const auto place = static_cast<std::uint64_t>(places[id]);
    if (place >= count) {
      throw Violation("row ", id, ": expected a place below ", count, ", found ", places[id]);
    }
    if (taken[place]) {
      throw Violation("row ", id, ": expected a place of its own, found ", place,
                      ", where another row is");
    }
    taken[place] = true;
    if (id % (1 << 20) == 0) check_interrupt();
  }
}

class IdScan {
 public:
  explicit IdScan(const IdDictionary& d) : d_(d) {}

  void check_integers() const {
    const auto labels = d_.stored_labels();
    if (labels.empty()) return;
    parallel_chunks(labels.size() - 1, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (labels[i + 1] > labels[i]) continue;
        throw Violation("labels[", i + 1, "]: expected more than ", labels[i], ", found ",
                        labels[i + 1]);
      }
    });
  }

  void check_samples() const {
    std::span<const std::int64_t> below = d_.stored_labels();
    std::size_t num_below = below.size();  // without what fills it up
    std::size_t start = 0;                 // of the level in the section
    for (const auto level : d_.levels()) {
      const std::size_t count = (num_below + kGiFanout - 1) / kGiFanout;
      parallel_chunks(level.size(), kGrain, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          const std::int64_t expected =
              i < count ? below[i * kGiFanout] : std::numeric_limits<std::int64_t>::max();
          if (level[i] == expected) continue;
          throw Violation("samples[", start + i, "]: expected ", expected, ", found ", level[i]);
        }
      });
      start += level.size();
      below = level;
      num_below = count;
    }
  }

  void check_offsets() const {
    const auto offsets = d_.stored_offsets();
    if (offsets[0] != 0) throw Violation("offsets[0]: expected 0, found ", offsets[0]);
    parallel_chunks(offsets.size() - 1, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (offsets[i + 1] < offsets[i]) {
          throw Violation("offsets[", i + 1, "]: expected at least ", offsets[i], ", found ",
                          offsets[i + 1]);
        }
        if (static_cast<std::uint64_t>(offsets[i + 1]) - static_cast<std::uint64_t>(offsets[i]) >
            kMaxLabelBytes) {
          throw Violation("label ", i, ": expected at most 2^31 bytes, found ",
                          offsets[i + 1] - offsets[i]);
        }
      }
    });
    if (static_cast<std::uint64_t>(offsets.back()) != d_.stored_bytes().size()) {
      throw Violation("offsets[", offsets.size() - 1, "]: expected ", d_.stored_bytes().size(),
                      ", all of the bytes, found ", offsets.back());
    }
  }

  void check_text() const {
    parallel_chunks(d_.num_labels(), kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (!is_utf8(strings()[i]))
          throw Violation("label ", i, ": expected UTF-8, found ", quoted_label(strings()[i]));
      }
    });
  }

  void check_strings() const {
    if (d_.num_labels() == 0) return;
    parallel_chunks(d_.num_labels() - 1, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto a = strings()[i];
        const auto b = strings()[i + 1];
        const std::size_t common = std::min(a.size(), b.size());
        const int order = common == 0 ? 0 : std::memcmp(a.data(), b.data(), common);
        if (order < 0 || (order == 0 && a.size() < b.size())) continue;
        throw Violation("label ", i + 1, ": expected more than ", quoted_label(a), ", found ",
                        quoted_label(b));
      }
    });
  }

  // Labels in order, slots in the order of their hashes a million labels at a time.
  void check_slots() const {
    constexpr std::size_t kStep = 1 << 20;
    std::vector<NodeId> found(std::min<std::size_t>(d_.num_labels(), kStep));
    for (std::size_t begin = 0; begin < d_.num_labels(); begin += kStep) {
      const std::size_t count = std::min<std::size_t>(kStep, d_.num_labels() - begin);
      try {
        d_.find(strings().part(begin, begin + count), std::span(found).first(count));
      } catch (const FormatError& error) {
        throw Violation(error.what());
      }
      for (std::size_t i = 0; i < count; ++i) {
        if (found[i] == static_cast<NodeId>(begin + i)) continue;
        throw Violation("label ", begin + i, ": expected its own id, found ",
                        found[i] == kUnknownLabel ? "none" : concat(found[i]));
      }
    }
    std::atomic<std::uint64_t> used{0};
    parallel_chunks(d_.slots().size(), kGrain, [&](std::size_t begin, std::size_t end) {
      const auto part = d_.slots().subspan(begin, end - begin);
      used += part.size() - static_cast<std::size_t>(std::count(part.begin(), part.end(), 0u));
    });
    if (used != d_.num_labels())
      throw Violation("expected ", d_.num_labels(), " slots in use, found ", used.load());
  }

 private:
  static constexpr std::size_t kGrain = 1 << 15;

  StringLabels strings() const { return {d_.stored_bytes(), d_.stored_offsets()}; }

  const IdDictionary& d_;
};

}  // namespace

std::vector<Check> verify_graph(const std::string& path, VerifyProgress& progress) {
  const Topology graph(path);
  const GlLayout& layout = graph.layout();
  Verifier verifier(*graph.mapping(), progress);
  verifier.check_sections(layout.sections, &gl_section_name);

  std::optional<EdgeSums> sums[2];
  for (const Direction direction : {Direction::kOut, Direction::kIn}) {
    if (!(direction == Direction::kOut ? layout.out : layout.in)) continue;
    const IndexScan scan(graph, direction, progress);
    const std::string name = concat(direction_name(direction), " index: ");
    if (!verifier.check(name + "indptr rises from 0 to the edge count",
                        [&] { scan.check_indptr(); }))
      continue;
    const char* const promise =
        layout.sorted ? "lists are in order and hold valid ids" : "lists hold valid ids";
    EdgeSums found;
    if (!verifier.check(name + promise, [&] { found = scan.check_lists(); })) continue;
    sums[direction == Direction::kIn] = found;
    const bool own_ids =
        (direction == Direction::kOut ? layout.out : layout.in)->edge_ids.has_value();
    if (own_ids)
      verifier.check(name + "edge ids are complete", [&] { check_edge_ids(layout, found); });
  }
  if (!layout.directed && sums[0]) {
    verifier.check("every edge is stored both ways", [&] {
      if (sums[0]->edges != sums[0]->reversed)
        throw Violation("expected each u-v beside v-u, found one without the other");
    });
  }
  if (sums[0] && sums[1]) {
    verifier.check("both indexes hold the same edges", [&] {
      if (sums[0]->edges != sums[1]->edges)
        throw Violation("expected the in index to mirror the out index, found a difference");
    });
  }
  return verifier.take();
}

std::vector<Check> verify_features(const std::string& path, VerifyProgress& progress) {
  const Features features(path);
  const GdLayout& layout = features.layout();
  Verifier verifier(*features.mapping(), progress);
  verifier.check_sections(layout.sections, &gd_section_name);
  if (layout.dtype == Dtype::kBool) {
    verifier.check("bool items are 0 or 1", [&] {
      const std::byte* const data = features.mapping()->data() + layout.data_offset;
      parallel_chunks(layout.data_length, 1 << 22, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          if (data[i] > std::byte{1}) {
            throw Violation("item ", i, ": expected 0 or 1, found ", std::to_integer<int>(data[i]));
          }
        }
      });
    });
  }
  if (layout.scale_offset) {
    verifier.check("scales are finite and not negative", [&] {
      const std::span<const float> scales = features.scales();
      parallel_chunks(scales.size(), 1 << 20, [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row) {
          if (!(std::isfinite(scales[row]) && scales[row] >= 0)) {
            throw Violation("row ", row, ": expected a finite number that is not negative, found ",
                            scales[row]);
          }
        }
      });
    });
  }
  if (layout.row_map) {
    verifier.check("the row map is a permutation", [&] {
      with_id_type(layout.row_map->width, [&]<class Id>() {
        const std::byte* const places = features.mapping()->data() + layout.row_map->offset;
        check_permutation<Id>({reinterpret_cast<const Id*>(places), layout.shape[0]});
      });
    });
  }
  return verifier.take();
}

std::vector<Check> verify_ids(const std::string& path, VerifyProgress& progress) {
  const IdDictionary dictionary(path);
  Verifier verifier(*dictionary.mapping(), progress);
  verifier.check_sections(dictionary.layout().sections, &gi_section_name);
  const IdScan scan(dictionary);
  if (dictionary.layout().kind == LabelKind::kInteger) {
    verifier.check("labels rise", [&] { scan.check_integers(); });
    verifier.check("samples are those of the labels", [&] { scan.check_samples(); });
    return verifier.take();
  }
  if (!verifier.check("offsets rise from 0 to the end of the bytes",
                      [&] { scan.check_offsets(); })) {
    return verifier.take();
  }
  verifier.check("labels are UTF-8", [&] { scan.check_text(); });
  if (verifier.check("labels rise", [&] { scan.check_strings(); }))
    verifier.check("every label is found by its hash", [&] { scan.check_slots(); });
  return verifier.take();
}

}  // namespace gz
