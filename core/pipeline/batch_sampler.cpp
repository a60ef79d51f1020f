#include "core/pipeline/batch_sampler.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/base/error.h"
#include "core/base/fault_guard.h"
#include "core/base/parallel.h"
#include "core/store/page_requests.h"

namespace gz {
namespace {

void check_seeds(std::span<const NodeId> seeds, NodeId num_nodes, const char* name) {
  constexpr std::size_t kGrain = 1 << 20;
  parallel_chunks(seeds.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    // A split is a view of its file, which is mapped for reads at random.
    PageRequests().touch(&seeds[begin], (end - begin) * sizeof(NodeId));
    for (std::size_t i = begin; i < end; ++i) {
      if (seeds[i] < 0 || seeds[i] >= num_nodes) {
        throw std::out_of_range(concat(name, "[", i, "]: node ", seeds[i],
                                       " is not in the graph, which has ", num_nodes, " nodes"));
      }
    }
  });
}

void check_times(const NeighborOptions& sampling, std::size_t times, std::size_t seeds) {
  if (!sampling.temporal || times == seeds) return;
  throw std::invalid_argument(
      concat("seed_time: expected ", seeds, " times, one per seed, found ", times));
}

// The places of `nodes` in the sorted list of those that differ, which is returned.
std::vector<NodeId> unique_nodes(const std::vector<NodeId>& nodes,
                                 std::vector<std::int64_t>& places) {
  std::vector<NodeId> sorted = nodes;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  places.resize(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    places[i] = std::lower_bound(sorted.begin(), sorted.end(), nodes[i]) - sorted.begin();
  return sorted;
}

}  // namespace

BatchSampler::BatchSampler(SamplerOptions options) : options_(std::move(options)) {
  if (options_.batch_size == 0)
    throw std::invalid_argument("batch_size: expected at least 1, found 0");
  if (options_.rank >= options_.world_size) {
    throw std::invalid_argument(concat("rank: expected 0 to world_size - 1 = ",
                                       options_.world_size - 1, ", found ", options_.rank));
  }
  if (const auto* const seeds = std::get_if<NodeSeeds>(&options_.seeds)) {
    if (seeds->nodes) check_seeds(*seeds->nodes, options_.num_nodes[seeds->type], "seeds");
    check_times(options_.sampling, seeds->times.size(), num_seeds());
    return;
  }
  const auto& seeds = std::get<LinkSeeds>(options_.seeds);
  if (seeds.src.size() != seeds.dst.size()) {
    throw std::invalid_argument(concat("links: expected as many destinations as sources, found ",
                                       seeds.dst.size(), " for ", seeds.src.size()));
  }
  const NodeId num_src = options_.num_nodes[seeds.src_type];
  const NodeId num_dst = options_.num_nodes[seeds.dst_type];
  check_seeds(seeds.src, num_src, "links[0]");
  check_seeds(seeds.dst, num_dst, "links[1]");
  check_times(options_.sampling, seeds.times.size(), seeds.src.size());
  const NegativeEnds ends = seeds.relation
                                ? NegativeEnds(*options_.relations[*seeds.relation].graph)
                                : NegativeEnds(num_src, num_dst);
  negatives_.emplace(ends, seeds.negatives, options_.node_times[seeds.src_type],
                     options_.node_times[seeds.dst_type]);
}

std::uint64_t BatchSampler::num_seeds() const {
  if (const auto* const seeds = std::get_if<NodeSeeds>(&options_.seeds)) {
    return seeds->nodes ? seeds->nodes->size()
                        : static_cast<std::uint64_t>(options_.num_nodes[seeds->type]);
  }
  return std::get<LinkSeeds>(options_.seeds).src.size();
}

std::uint64_t BatchSampler::num_places() const {
  if (places_) return places_->size();
  const std::uint64_t even = num_seeds() / options_.world_size;
  const bool rest = num_seeds() % options_.world_size != 0 && !options_.drop_uneven;
  return even + (rest ? 1 : 0);
}

std::uint64_t BatchSampler::num_batches() const {
  if (!batch_ends_.empty()) return batch_ends_.size();
  const std::uint64_t whole = num_places() / options_.batch_size;
  const bool rest = num_places() % options_.batch_size != 0 && !options_.drop_last;
  return whole + (rest ? 1 : 0);
}

void BatchSampler::arrange(Arrangement arrangement) {
  if (arrangement.order) {
    const auto& order = *arrangement.order;
    const auto count = static_cast<std::int64_t>(num_seeds());
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i] >= 0 && order[i] < count) continue;
      const std::string at = arrangement.batch_sizes ? "" : concat('[', i, ']');
      throw std::out_of_range(concat(arrangement.order_name, at, ": place ", order[i],
                                     " is not among the seeds, of which there are ", count));
    }
  }
  const std::uint64_t places = arrangement.order ? arrangement.order->size() : num_places();
  std::vector<std::uint64_t> ends;
  if (arrangement.batch_sizes) {
    std::uint64_t end = 0;
    for (const std::uint64_t size : *arrangement.batch_sizes) {
      if (size == 0 || size > places - end) {
        throw std::invalid_argument(concat("batch_size[", ends.size(), "]: expected 1 to ",
                                           places - end, ", found ", size));
      }
      end += size;
      ends.push_back(end);
    }
    if (end != places) {
      throw std::invalid_argument(
          concat("batch_size: expected sizes that sum up to ", places, ", found ", end));
    }
  }
  places_ = std::move(arrangement.order);
  batch_ends_ = std::move(ends);
}

EpochOrder BatchSampler::order(std::uint64_t epoch) const {
  return EpochOrder(num_seeds(), options_.shuffle, options_.sampling.seed, epoch);
}

std::int64_t BatchSampler::seed_at(const EpochOrder& order, std::uint64_t place) const {
  if (places_) return (*places_)[place];
  const std::uint64_t of_all = place * options_.world_size + options_.rank;
  return static_cast<std::int64_t>(order[of_all < num_seeds() ? of_all : of_all % num_seeds()]);
}

void BatchSampler::take(std::span<const std::int64_t> from, std::span<const std::int64_t> places,
                        std::vector<std::int64_t>& out) const {
  const auto request = [&](std::size_t first, std::size_t last) {
    std::vector<const void*> addresses;
    for (std::size_t i = first; i < last; ++i)
      addresses.push_back(&from[static_cast<std::size_t>(places[i])]);
    request_scattered(addresses);
  };
  cold_detector_.stretch(0, places.size(), request, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      out.push_back(from[static_cast<std::size_t>(places[i])]);
  });
}

void BatchSampler::add_seeds(const NodeSeeds& seeds, SampledBatch& batch, BatchSeeds& found) const {
  std::vector<NodeId>& nodes = found.nodes[seeds.type];
  if (seeds.nodes) {
    take(*seeds.nodes, batch.input_ids, nodes);
  } else {
    nodes.insert(nodes.end(), batch.input_ids.begin(), batch.input_ids.end());
  }
  if (!seeds.times.empty()) take(seeds.times, batch.input_ids, found.times[seeds.type]);
}

void BatchSampler::add_seeds(const LinkSeeds& seeds, const NeighborOptions& sampling,
                             SampledBatch& batch, BatchSeeds& found) const {
  std::vector<NodeId> src, dst;
  std::vector<std::int64_t> times;
  take(seeds.src, batch.input_ids, src);
  take(seeds.dst, batch.input_ids, dst);
  if (!seeds.times.empty()) take(seeds.times, batch.input_ids, times);
  if (seeds.exclude) {
    found.excluded_src = src;
    found.excluded_dst = dst;
  }
  const std::size_t count = src.size();
  std::vector<std::int64_t> src_times = times, dst_times = times;
  const Key key = Key(sampling.seed, Purpose::kNegatives).with(sampling.epoch).with(sampling.batch);
  const NodePairs drawn = negatives_->draw(src, times, key);
  src.insert(src.end(), drawn.src.begin(), drawn.src.end());
  dst.insert(dst.end(), drawn.dst.begin(), drawn.dst.end());
  for (std::size_t j = 0; !times.empty() && j < drawn.dst.size(); ++j) {
    const std::int64_t time = times[negatives_->link_of(j, count)];
    if (!drawn.src.empty()) src_times.push_back(time);
    dst_times.push_back(time);
  }

  const bool one_type = seeds.src_type == seeds.dst_type;
  if (options_.sampling.disjoint) {
    // A tree for each end of each edge. Trees of negatives go through all links again and again,
    // as PyG's do.
    found.nodes[seeds.src_type] = src;
    found.times[seeds.src_type] = src_times;
    auto& far = found.nodes[seeds.dst_type];
    auto& far_times = found.times[seeds.dst_type];
    const std::size_t first_dst = far.size();
    for (std::size_t i = 0; i < src.size(); ++i) batch.src.push_back(static_cast<std::int64_t>(i));
    batch.dst.resize(dst.size());
    const std::size_t rounds = count == 0 ? 0 : (dst.size() + count - 1) / count;
    const bool by_link = seeds.negatives.kind == Negatives::kTriplet;
    for (std::size_t at = 0; at < dst.size(); ++at) {
      const std::size_t drawn_at = at - count;  // of negatives
      const std::size_t from =
          at < count || !by_link ? at : count + drawn_at % count * (rounds - 1) + drawn_at / count;
      batch.dst[from] = static_cast<std::int64_t>(first_dst + at);
      far.push_back(dst[from]);
      if (!dst_times.empty()) far_times.push_back(dst_times[from]);
    }
    return;
  }
  std::vector<NodeId> both = src;
  if (one_type) both.insert(both.end(), dst.begin(), dst.end());
  found.nodes[seeds.src_type] = unique_nodes(both, batch.src);
  if (one_type) {
    batch.dst.assign(batch.src.begin() + static_cast<std::ptrdiff_t>(src.size()), batch.src.end());
    batch.src.resize(src.size());
  } else {
    found.nodes[seeds.dst_type] = unique_nodes(dst, batch.dst);
  }
}

void BatchSampler::exclude(const BatchSeeds& found, std::vector<Relation>& relations,
                           std::size_t of, NeighborOptions& sampling) {
  Relation& relation = relations[of];
  relation.excluded = {found.excluded_src, found.excluded_dst, std::nullopt};
  // Reverses that another relation holds are its own edges.
  if (sampling.exclude_reverse && relation.reverse && *relation.reverse != of) {
    relations[*relation.reverse].excluded = {found.excluded_dst, found.excluded_src, std::nullopt};
    sampling.exclude_reverse = false;
  }
}

void BatchSampler::check_inputs() const {
  if (const auto* const nodes = std::get_if<NodeSeeds>(&options_.seeds)) {
    if (nodes->nodes) FaultGuard::check_intact_at(nodes->nodes->data());
    FaultGuard::check_intact_at(nodes->times.data());
  } else {
    const auto& links = std::get<LinkSeeds>(options_.seeds);
    for (const auto& ids : {links.src, links.dst, links.times})
      FaultGuard::check_intact_at(ids.data());
  }
  for (const auto& times : options_.node_times) FaultGuard::check_intact_at(times.data());
}

SampledBatch BatchSampler::sample(const EpochOrder& order, std::uint64_t epoch,
                                  std::uint64_t number) const {
  SampledBatch batch;
  std::uint64_t begin = number * options_.batch_size;
  std::uint64_t end = std::min(begin + options_.batch_size, num_places());
  if (!batch_ends_.empty()) {
    begin = number == 0 ? 0 : batch_ends_[number - 1];
    end = batch_ends_[number];
  }
  for (std::uint64_t place = begin; place < end; ++place)
    batch.input_ids.push_back(seed_at(order, place));

  NeighborOptions sampling = options_.sampling;
  sampling.epoch = epoch;
  sampling.batch = number * options_.world_size + options_.rank;  // no two ranks draw alike
  BatchSeeds found;
  found.nodes.resize(options_.num_nodes.size());
  found.times.resize(options_.num_nodes.size());
  std::vector<Relation> relations = options_.relations;
  if (const auto* const nodes = std::get_if<NodeSeeds>(&options_.seeds)) {
    add_seeds(*nodes, batch, found);
  } else {
    const auto& links = std::get<LinkSeeds>(options_.seeds);
    add_seeds(links, sampling, batch, found);
    if (links.relation) exclude(found, relations, *links.relation, sampling);
  }
  std::vector<TypeSeeds> seeds;
  for (std::size_t type = 0; type < found.nodes.size(); ++type) {
    seeds.push_back({found.nodes[type], found.times[type], options_.node_times[type],
                     options_.num_nodes[type]});
  }
  batch.hood = sample_neighbors(seeds, relations, sampling);
  check_inputs();
  return batch;
}

}  // namespace gz
