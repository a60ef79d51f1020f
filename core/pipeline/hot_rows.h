// Which rows are worth keeping: those that batches are most likely to need.
#pragma once

#include <cstdint>
#include <span>

#include "core/gather/row_cache.h"

namespace gz {

// Scores nodes by how often a batch is expected to need them. `neighbor_counts`, how often each
// node is in the lists that are drawn from, is what the graph says beforehand; `visits` are the
// nodes of `num_batches` batches, each once per batch. They are weighed by how well the counts
// predict the visits: if visits scatter around them no more than by chance, the graph is believed
// (a gamma prior for Poisson counts, its shape by the method of moments).
RecycledVector<float> expected_visits(RecycledVector<std::uint32_t> neighbor_counts,
                                      RecycledVector<std::int64_t> visits, std::size_t num_batches);

// The `count` nodes of the highest scores; of equal ones the first.
ChosenRows hottest(std::span<const float> scores, std::uint64_t count);

}  // namespace gz
