#include "core/store/id_dictionary.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/parallel.h"
#include "core/store/page_requests.h"

namespace gz {
namespace {

// Labels in flight at once: enough to hide the latency of memory, few enough to stay in the
// first-level cache (docs/design/ids.md).
constexpr std::size_t kBlock = 32;
// Labels a thread takes at a time; for those that go to disk, how many are sorted together.
constexpr std::size_t kGrain = 1 << 12;
constexpr std::size_t kColdGrain = 1 << 17;
// Asking what is resident costs as much as some thousand lookups.
constexpr std::size_t kLeastCold = 1 << 14;
constexpr std::uint64_t kLeastColdBytes = 16 << 20;
constexpr std::uint64_t kLookupsPerPage = 16;

// Positions 0 … count-1 in rising order of key(i).
template <class Key>
std::vector<std::uint32_t> order_by(std::size_t count, Key key) {
  using Value = decltype(key(std::size_t{0}));
  std::vector<std::pair<Value, std::uint32_t>> items(count);
  for (std::size_t i = 0; i < count; ++i) items[i] = {key(i), static_cast<std::uint32_t>(i)};
  std::sort(items.begin(), items.end());
  std::vector<std::uint32_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = items[i].second;
  return order;
}

}  // namespace

// Descends the levels of samples from the coarsest. The rank found in one level is the node,
// sixteen items, of the next. No item of a damaged file leads outside: ranks are cut to the level's
// length.
class IntegerLookup {
 public:
  explicit IntegerLookup(const IdDictionary& d) : d_(d) {
    for (auto level = d.levels_.rbegin(); level != d.levels_.rend(); ++level)
      levels_.push_back(*level);
  }

  void warm(std::span<const std::int64_t> labels, std::span<NodeId> ids) const {
    for (std::size_t begin = 0; begin < labels.size(); begin += kBlock) {
      const std::size_t count = std::min(kBlock, labels.size() - begin);
      std::array<std::uint64_t, kBlock> nodes{};
      for (std::size_t level = 0; level < levels_.size(); ++level)
        descend(level, labels.subspan(begin, count), nodes.data());
      for (std::size_t i = 0; i < count; ++i)
        ids[begin + i] = find_in_node(nodes[i], labels[begin + i]);
    }
  }

  // Level 1 and the labels themselves may be on disk; the levels above have a page for a million
  // labels and more.
  void cold(std::span<const std::int64_t> labels, std::span<NodeId> ids) const {
    const auto order = order_by(labels.size(), [&](std::size_t i) { return labels[i]; });
    std::vector<std::int64_t> sorted(labels.size());
    for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = labels[order[i]];
    std::vector<std::uint64_t> nodes(labels.size(), 0);
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      if (level + 1 == levels_.size()) request(levels_[level], nodes);
      descend(level, sorted, nodes.data());
    }
    request(d_.labels_, nodes);
    for (std::size_t i = 0; i < order.size(); ++i)
      ids[order[i]] = find_in_node(nodes[i], sorted[i]);
  }

 private:
  // The last of 16 items at `node` that is not larger than `label`, or the first.
  static std::uint64_t rank_in_node(const std::int64_t* node, std::int64_t label) {
    std::uint64_t rank = 0;
    rank += node[8] <= label ? 8 : 0;
    rank += node[rank + 4] <= label ? 4 : 0;
    rank += node[rank + 2] <= label ? 2 : 0;
    rank += node[rank + 1] <= label ? 1 : 0;
    return rank;
  }

  std::span<const std::int64_t> below(std::size_t level) const {
    return level + 1 < levels_.size() ? levels_[level + 1] : d_.labels_;
  }

  void descend(std::size_t level, std::span<const std::int64_t> labels,
               std::uint64_t* nodes) const {
    const std::int64_t* const items = levels_[level].data();
    const std::span<const std::int64_t> next = below(level);
    const std::uint64_t last_node = (next.size() - 1) / kGiFanout;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::uint64_t first = nodes[i] * kGiFanout;
      nodes[i] = std::min(first + rank_in_node(items + first, labels[i]), last_node);
      __builtin_prefetch(next.data() + nodes[i] * kGiFanout);
      __builtin_prefetch(next.data() + nodes[i] * kGiFanout + 8);
    }
  }

  NodeId find_in_node(std::uint64_t node, std::int64_t label) const {
    const std::uint64_t first = node * kGiFanout;
    std::uint64_t id = first;
    if (first + kGiFanout <= d_.labels_.size()) {
      id += rank_in_node(d_.labels_.data() + first, label);
    } else {
      while (id < d_.labels_.size() && d_.labels_[id] < label) ++id;
      if (id == d_.labels_.size()) return kUnknownLabel;
    }
    return d_.labels_[id] == label ? static_cast<NodeId>(id) : kUnknownLabel;
  }

  void request(std::span<const std::int64_t> items, std::span<const std::uint64_t> nodes) const {
    PageRequests pages;
    for (const std::uint64_t node : nodes)
      pages.touch(items.data() + node * kGiFanout, kGiFanout * sizeof(std::int64_t));
  }

  const IdDictionary& d_;
  std::vector<std::span<const std::int64_t>> levels_;  // the coarsest first
};

// Home slot, then the offsets of the label it names, then its bytes: three misses per label.
class StringLookup {
 public:
  explicit StringLookup(const IdDictionary& d) : d_(d) {}

  void warm(const StringLabels& labels, std::size_t begin, std::size_t end,
            std::span<NodeId> ids) const {
    std::array<Probe, kBlock> probes;
    for (; begin < end; begin += kBlock) {
      const std::size_t count = std::min(kBlock, end - begin);
      for (std::size_t i = 0; i < count; ++i) {
        probes[i] = start(labels[begin + i]);
        __builtin_prefetch(d_.slots_.data() + probes[i].slot);
      }
      for (std::size_t i = 0; i < count; ++i) {
        scan(probes[i]);
        if (probes[i].id != kUnknownLabel) __builtin_prefetch(d_.offsets_.data() + probes[i].id);
      }
      for (std::size_t i = 0; i < count; ++i) {
        if (probes[i].id == kUnknownLabel) continue;
        const auto at =
            static_cast<std::uint64_t>(d_.offsets_[static_cast<std::size_t>(probes[i].id)]);
        if (at < d_.bytes_.size()) __builtin_prefetch(d_.bytes_.data() + at);
      }
      for (std::size_t i = 0; i < count; ++i) ids[begin + i] = settle(probes[i], labels[begin + i]);
    }
  }

  void cold(const StringLabels& labels, std::size_t begin, std::size_t end,
            std::span<NodeId> ids) const {
    std::vector<Probe> probes(end - begin);
    for (std::size_t i = 0; i < probes.size(); ++i) probes[i] = start(labels[begin + i]);
    const auto by_slot = order_by(probes.size(), [&](std::size_t i) { return probes[i].slot; });
    {
      PageRequests pages;
      for (const std::uint32_t i : by_slot)
        pages.touch(d_.slots_.data() + probes[i].slot, sizeof(std::uint64_t));
    }
    for (const std::uint32_t i : by_slot) scan(probes[i]);

    const auto by_id = order_by(probes.size(), [&](std::size_t i) { return probes[i].id; });
    {
      PageRequests pages;
      for (const std::uint32_t i : by_id) {
        if (probes[i].id != kUnknownLabel)
          pages.touch(d_.offsets_.data() + probes[i].id, 2 * sizeof(std::int64_t));
      }
    }
    {
      PageRequests pages;
      for (const std::uint32_t i : by_id) {
        if (probes[i].id == kUnknownLabel) continue;
        const auto label = d_.string(static_cast<std::uint64_t>(probes[i].id));
        // A label of another length is not the one; one that is long is read as it comes.
        pages.touch(label.data(), std::min(label.size(), kPage));
      }
    }
    for (const std::uint32_t i : by_id) ids[begin + i] = settle(probes[i], labels[begin + i]);
  }

 private:
  struct Probe {
    std::uint64_t hash = 0;
    std::uint64_t slot = 0;  // the next one to look at
    std::uint64_t end = 0;   // where to stop
    NodeId id = kUnknownLabel;
  };

  Probe start(std::span<const std::byte> label) const {
    Probe probe;
    probe.hash = xxh64(label);
    probe.slot = gi_home(probe.hash, d_.layout_.num_homes);
    // Inside the table: its length is num_homes + max_probe.
    probe.end = std::min<std::uint64_t>(probe.slot + d_.layout_.max_probe + 1, d_.slots_.size());
    return probe;
  }

  // On to the next label with these bits of the hash, or to kUnknownLabel.
  void scan(Probe& probe) const {
    probe.id = kUnknownLabel;
    for (; probe.slot < probe.end; ++probe.slot) {
      const std::uint64_t slot = d_.slots_[probe.slot];
      if (slot == 0) {
        probe.slot = probe.end;
        return;
      }
      if (!gi_slot_may_hold(slot, probe.hash)) continue;
      const std::uint64_t id = gi_slot_id(slot);
      if (id >= d_.num_labels()) d_.refuse_slot(probe.slot);
      probe.id = static_cast<NodeId>(id);
      ++probe.slot;
      return;
    }
  }

  NodeId settle(Probe& probe, std::span<const std::byte> label) const {
    while (probe.id != kUnknownLabel) {
      const auto found = d_.string(static_cast<std::uint64_t>(probe.id));
      if (found.size() == label.size() &&
          (label.empty() || std::memcmp(found.data(), label.data(), label.size()) == 0)) {
        return probe.id;
      }
      scan(probe);
    }
    return kUnknownLabel;
  }

  const IdDictionary& d_;
};

IdDictionary::IdDictionary(const std::string& path, Place place) {
  const auto file = std::make_shared<const File>(path);
  layout_ = read_gi(*file);
  mapping_ = std::make_shared<const MappedFile>(file, MappedFile::Mode::kReadOnly);
  mapping_->advise(Advice::kRandom);
  mapping_->check_intact();  // nobody cut the file between the header's proof and the mapping
  const std::byte* data = mapping_->data();
  if (place == Place::kMemory) {
    held_.extend(mapping_->size());
    file->read_exact_at({held_.data(), held_.size()}, 0);
    data = held_.data();
  }
  const auto numbers = [&](std::uint64_t offset, std::uint64_t count) {
    return std::span(reinterpret_cast<const std::int64_t*>(data + offset), count);
  };
  if (layout_.kind == LabelKind::kInteger) {
    labels_ = numbers(layout_.labels_offset, layout_.num_labels);
    std::uint64_t at = layout_.samples_offset;
    for (const std::uint64_t count : gi_sample_levels(layout_.num_labels)) {
      levels_.push_back(numbers(at, count));
      at += count * sizeof(std::int64_t);
    }
  } else {
    bytes_ = {data + layout_.bytes_offset, layout_.bytes_length};
    offsets_ = numbers(layout_.offsets_offset, layout_.num_labels + 1);
    slots_ = {reinterpret_cast<const std::uint64_t*>(data + layout_.slots_offset),
              layout_.num_homes + layout_.max_probe};
  }
}

void IdDictionary::expect_kind(LabelKind kind) const {
  if (kind == layout_.kind) return;
  throw std::invalid_argument(kind == LabelKind::kInteger
                                  ? concat(path(), ": holds strings, not integers")
                                  : concat(path(), ": holds integers, not strings"));
}

bool IdDictionary::is_cold(std::size_t count) const {
  if (count < kLeastCold || mapping_->size() < kLeastColdBytes || !held_.empty()) return false;
  // Asking costs as much as a lookup for every few kilobytes of the file: an answer holds for as
  // many lookups, so that many calls in a row ask now and then.
  if (lookups_until_asked_.fetch_sub(static_cast<std::int64_t>(count)) > 0) return was_cold_;
  lookups_until_asked_ = static_cast<std::int64_t>(mapping_->size() / kPage * kLookupsPerPage);
  const auto resident = mapping_->resident_bytes();
  was_cold_ = resident && *resident < mapping_->size() / 16 * 15;
  return was_cold_;
}

std::span<const std::byte> IdDictionary::string(std::uint64_t id) const {
  const std::int64_t begin = offsets_[id];
  const std::int64_t end = offsets_[id + 1];
  if (begin < 0 || end < begin || static_cast<std::uint64_t>(end) > bytes_.size()) {
    mapping_->check_intact();  // zeros of a vanished page must not be blamed on the format
    throw FormatError(path(), "bad offsets of label ", id, ": expected 0 to ", bytes_.size(),
                      ", rising, found ", begin, " and ", end);
  }
  return bytes_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

void IdDictionary::refuse_slot(std::uint64_t slot) const {
  mapping_->check_intact();
  throw FormatError(path(), "bad slot ", slot, ": expected an id below ", num_labels(), ", found ",
                    gi_slot_id(slots_[slot]));
}

void IdDictionary::find(std::span<const std::int64_t> labels, std::span<NodeId> ids) const {
  expect_kind(LabelKind::kInteger);
  guarded(*mapping_, [&] {
    if (num_labels() == 0) {
      std::fill(ids.begin(), ids.end(), kUnknownLabel);
      return;
    }
    const IntegerLookup lookup(*this);
    const bool cold = is_cold(labels.size());
    parallel_chunks(labels.size(), cold ? kColdGrain : kGrain,
                    [&](std::size_t begin, std::size_t end) {
                      const auto part = labels.subspan(begin, end - begin);
                      const auto out = ids.subspan(begin, end - begin);
                      cold ? lookup.cold(part, out) : lookup.warm(part, out);
                    });
  });
}

void IdDictionary::find(const StringLabels& labels, std::span<NodeId> ids) const {
  expect_kind(LabelKind::kString);
  check_offsets(labels);
  guarded(*mapping_, [&] {
    const StringLookup lookup(*this);
    const bool cold = is_cold(labels.size());
    parallel_chunks(
        labels.size(), cold ? kColdGrain : kGrain, [&](std::size_t begin, std::size_t end) {
          cold ? lookup.cold(labels, begin, end, ids) : lookup.warm(labels, begin, end, ids);
        });
  });
}

void IdDictionary::translate(std::span<const std::int64_t> labels, std::span<NodeId> ids) const {
  find(labels, ids);
  const auto unknown = std::find(ids.begin(), ids.end(), kUnknownLabel);
  if (unknown == ids.end()) return;
  const auto at = static_cast<std::size_t>(unknown - ids.begin());
  throw std::out_of_range(concat("label ", labels[at], " at position ", at, " is not in ", path()));
}

void IdDictionary::translate(const StringLabels& labels, std::span<NodeId> ids) const {
  find(labels, ids);
  const auto unknown = std::find(ids.begin(), ids.end(), kUnknownLabel);
  if (unknown == ids.end()) return;
  const auto at = static_cast<std::size_t>(unknown - ids.begin());
  throw std::out_of_range(
      concat("label ", quoted_label(labels[at]), " at position ", at, " is not in ", path()));
}

namespace {

void check_ids(const IdDictionary& d, std::span<const NodeId> ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && static_cast<std::uint64_t>(ids[i]) < d.num_labels()) continue;
    throw std::out_of_range(concat("id ", ids[i], " at position ", i, " is not in ", d.path(),
                                   ", which has ", d.num_labels(), " labels"));
  }
}

}  // namespace

void IdDictionary::integers(std::span<const NodeId> ids, std::span<std::int64_t> labels) const {
  expect_kind(LabelKind::kInteger);
  check_ids(*this, ids);
  guarded(*mapping_, [&] {
    if (is_cold(ids.size())) {
      PageRequests pages;
      for (const std::uint32_t i : order_by(ids.size(), [&](std::size_t j) { return ids[j]; }))
        pages.touch(labels_.data() + ids[i], sizeof(std::int64_t));
    }
    parallel_chunks(ids.size(), kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        labels[i] = labels_[static_cast<std::size_t>(ids[i])];
    });
  });
}

StringBatch IdDictionary::strings(std::span<const NodeId> ids) const {
  expect_kind(LabelKind::kString);
  check_ids(*this, ids);
  return guarded(*mapping_, [&] {
    const bool cold = is_cold(ids.size());
    std::vector<std::uint32_t> order;
    if (cold) {
      order = order_by(ids.size(), [&](std::size_t i) { return ids[i]; });
      PageRequests pages;
      for (const std::uint32_t i : order)
        pages.touch(offsets_.data() + ids[i], 2 * sizeof(std::int64_t));
    }
    StringBatch batch;
    batch.offsets.resize(ids.size() + 1);
    parallel_chunks(ids.size(), kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        batch.offsets[i + 1] =
            static_cast<std::int64_t>(string(static_cast<std::uint64_t>(ids[i])).size());
    });
    std::partial_sum(batch.offsets.begin(), batch.offsets.end(), batch.offsets.begin());
    if (cold) {
      PageRequests pages;
      for (const std::uint32_t i : order) {
        const auto label = string(static_cast<std::uint64_t>(ids[i]));
        pages.touch(label.data(), label.size());
      }
    }
    batch.bytes.resize(static_cast<std::size_t>(batch.offsets.back()));
    parallel_chunks(ids.size(), kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto label = string(static_cast<std::uint64_t>(ids[i]));
        // Nothing but a file that changes under us makes the lengths differ.
        const auto room = static_cast<std::size_t>(batch.offsets[i + 1] - batch.offsets[i]);
        if (label.size() != room) throw FormatError(path(), "label ", ids[i], " changed");
        if (room > 0) std::memcpy(batch.bytes.data() + batch.offsets[i], label.data(), room);
        if (!is_utf8(label)) {
          throw FormatError(path(), "label ", ids[i], ": expected UTF-8, found ",
                            quoted_label(label));
        }
      }
    });
    return batch;
  });
}

}  // namespace gz
