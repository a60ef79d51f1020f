"""Our neighbour sampling, beside rivals/samplers.py. Given ``graph``, and ``hops`` or ``fanout``."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import graphzero as gz
from graphzero.bench.rivals.clock import batch_rates, rates_of
from graphzero.bench.rivals.protocol import answer
from graphzero.bench.rivals.samplers import FANOUT, FANOUTS


def sample_hops(graph: gz.Graph, given: dict[str, Any]) -> dict[str, Any]:
    """Sample three hops, threads across batches."""
    batches = np.load(os.path.join(given["folder"], given["seeds"]))
    hood = gz.sample_neighbors(graph, batches[0], FANOUTS, seed=1)
    np.savez(
        given["result"], node=hood.node, row=hood.row, col=hood.col, edge=hood.edge,
        num_sampled_nodes=hood.num_sampled_nodes, num_sampled_edges=hood.num_sampled_edges or [],
    )  # fmt: skip
    gz.set_num_threads(1)

    def count_edges(batch: tuple[int, Any]) -> int:
        return len(gz.sample_neighbors(graph, batch[1], FANOUTS, seed=2, batch=batch[0]).row)

    return {"runs": batch_rates(count_edges, list(enumerate(batches)), given["threads"], given["seconds"])}


def sample_fanout(graph: gz.Graph, given: dict[str, Any]) -> dict[str, Any]:
    """Draw one hop as GraphZero 0.2 does."""
    starts = np.load(os.path.join(given["folder"], "starts.npy"))
    np.savez(given["result"], drawn=graph.batch_random_fanout(starts, FANOUT, seed=1))
    return {"runs": rates_of(lambda: graph.batch_random_fanout(starts, FANOUT), given["edges"], given["seconds"])}


def measure(given: dict[str, Any]) -> dict[str, Any]:
    """Sample as it was asked for, from the page cache."""
    graph = gz.Graph(given["graph"])
    graph.preload()
    return sample_fanout(graph, given) if given["one_hop"] else sample_hops(graph, given)


if __name__ == "__main__":
    answer(measure)
