#include "core/store/topology.h"

#include <cmath>
#include <stdexcept>

#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/base/parallel.h"

namespace gz {
namespace {

template <class Item>
std::span<const Item> items(const MappedFile& mapping, const ByteRange& range) {
  return {reinterpret_cast<const Item*>(mapping.data() + range.offset),
          range.length / sizeof(Item)};
}

}  // namespace

Topology::Topology(const std::string& path) {
  auto file = std::make_shared<const File>(path);
  layout_ = read_gl(*file);
  mapping_ = std::make_shared<const MappedFile>(std::move(file), MappedFile::Mode::kReadOnly);
  mapping_->advise(Advice::kRandom);
  mapping_->check_intact();  // nobody cut the file between the header's proof and the mapping
  if (layout_.out) out_ = view(*layout_.out);
  if (layout_.in) in_ = view(*layout_.in);
}

Index Topology::view(const GlIndex& index) const {
  Index view;
  view.indptr = items<std::int64_t>(*mapping_, index.indptr);
  view.indices = mapping_->data() + index.indices.offset;
  if (index.edge_ids) view.edge_ids = mapping_->data() + index.edge_ids->offset;
  if (index.weights) view.weights = items<float>(*mapping_, *index.weights);
  if (index.times) view.times = items<std::int64_t>(*mapping_, *index.times);
  if (index.weight_sums) view.weight_sums = items<double>(*mapping_, *index.weight_sums);
  return view;
}

NodeId Topology::num_nodes(Direction direction) const {
  return static_cast<NodeId>(direction == Direction::kOut ? layout_.num_src_nodes
                                                          : layout_.num_dst_nodes);
}

NodeId Topology::num_neighbor_nodes(Direction direction) const {
  return num_nodes(direction == Direction::kOut ? Direction::kIn : Direction::kOut);
}

bool Topology::has(Direction direction) const {
  // The one index of an undirected graph serves as both.
  return !layout_.directed || (direction == Direction::kOut ? out_.has_value() : in_.has_value());
}

bool Topology::in_order_of_neighbor() const {
  const std::optional<GlIndex>& stored = layout_.out ? layout_.out : layout_.in;
  return layout_.sorted && !stored->times;
}

const Index& Topology::index(Direction direction) const {
  if (!has(direction)) {
    const auto wanted = direction_name(direction);
    throw std::invalid_argument(concat(path(), ": has no '", wanted, "' index, only '",
                                       direction_name(out_ ? Direction::kOut : Direction::kIn),
                                       "'; write the graph with index=\"both\" or index=\"", wanted,
                                       "\""));
  }
  if (!layout_.directed || direction == Direction::kOut) return *out_;
  return *in_;
}

EdgeRange Topology::checked_range(const Index& index, NodeId node) const {
  const EdgeRange range = {index.indptr[static_cast<std::size_t>(node)],
                           index.indptr[static_cast<std::size_t>(node) + 1]};
  if (range.begin < 0 || range.end < range.begin || range.end > num_edges()) {
    mapping_->check_intact();  // zeros of a vanished page must not be blamed on the format
    throw FormatError(path(), "corrupt indptr at node ", node,
                      ": expected 0 <= begin <= end <= ", num_edges(), ", found begin ",
                      range.begin, ", end ", range.end);
  }
  return range;
}

std::vector<double> Topology::build_weight_sums(const Index& index) const {
  const auto count = static_cast<std::size_t>(num_weight_sums(layout_.num_edges));
  require_memory(count * sizeof(double), concat(path(), ": adding up its weights"));
  std::vector<double> sums(count);
  guarded(*mapping_, [&] {
    parallel_for(index.indptr.size() - 1, [&](std::size_t node) {
      const EdgeRange list = checked_range(index, static_cast<NodeId>(node));
      double sum = 0;
      for (EdgeId at = list.begin; at < list.end; ++at) {
        if (at % kWeightStride == 0) sums[static_cast<std::size_t>(at / kWeightStride)] = sum;
        const float weight = index.weights[static_cast<std::size_t>(at)];
        if (!(std::isfinite(weight) && weight >= 0)) {
          mapping_->check_intact();
          throw FormatError(path(), "weight of entry ", at, ", an edge of node ", node,
                            ": expected a finite number that is not negative, found ", weight);
        }
        sum += weight;
      }
    });
  });
  return sums;
}

std::span<const double> Topology::weight_sums(Direction direction) const {
  const Index& wanted = index(direction);
  if (wanted.weights.data() == nullptr) {
    throw std::invalid_argument(
        concat(path(), ": has no weights; write the graph with weight= to store them"));
  }
  if (wanted.weight_sums.data() != nullptr) return wanted.weight_sums;
  std::vector<double>& built = built_sums_[out_ && &wanted == &*out_ ? 0 : 1];
  const std::lock_guard lock(mutex_);
  if (built.empty()) built = build_weight_sums(wanted);
  return built;
}

std::vector<ByteRange> Topology::drawn_from(Direction direction, bool edge_ids, bool weights,
                                            bool times) const {
  const GlIndex& stored = out_ && &index(direction) == &*out_ ? *layout_.out : *layout_.in;
  std::vector<ByteRange> ranges = {stored.indptr, stored.indices};
  if (edge_ids && stored.edge_ids) ranges.push_back(*stored.edge_ids);
  if (weights && stored.weights) ranges.push_back(*stored.weights);
  if (weights && stored.weight_sums) ranges.push_back(*stored.weight_sums);
  if (times && stored.times) ranges.push_back(*stored.times);
  return ranges;
}

EdgeRange Topology::edges_of(Direction direction, NodeId node) const {
  const Index& wanted = index(direction);
  if (node < 0 || node >= num_nodes(direction)) {
    throw std::out_of_range(concat("node ", node, " is not in ", path(), ", which has ",
                                   num_nodes(direction), " nodes (0 to ", num_nodes(direction) - 1,
                                   ")"));
  }
  return guarded(*mapping_, [&] { return checked_range(wanted, node); });
}

void Topology::degrees(Direction direction, std::span<const NodeId> nodes,
                       std::span<std::int64_t> out) const {
  const Index& wanted = index(direction);
  const NodeId count = num_nodes(direction);
  guarded(*mapping_, [&] {
    parallel_for(nodes.size(), [&](std::size_t i) {
      if (nodes[i] < 0 || nodes[i] >= count) {
        throw std::out_of_range(concat("node ", nodes[i], " at position ", i, " is not in ", path(),
                                       ", which has ", count, " nodes (0 to ", count - 1, ")"));
      }
      out[i] = checked_range(wanted, nodes[i]).size();
    });
  });
}

}  // namespace gz
