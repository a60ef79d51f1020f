"""Our random walks, beside rivals/walkers.py. Given ``graph``, too."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import graphzero as gz
from graphzero.bench.rivals.clock import rates_of
from graphzero.bench.rivals.protocol import answer
from graphzero.bench.rivals.walkers import LENGTH, P, Q


def measure(given: dict[str, Any]) -> dict[str, Any]:
    """Walk once to be checked, then for the clock."""
    graph = gz.Graph(given["graph"])
    graph.preload()
    starts = np.load(os.path.join(given["folder"], "starts.npy"))[: given["walks"]]
    q = Q if given["law"] == "node2vec" else 1.0
    np.savez(given["result"], walks=gz.random_walk(graph, starts, LENGTH, p=P, q=q, seed=1))
    runs = rates_of(lambda: gz.random_walk(graph, starts, LENGTH, p=P, q=q), len(starts) * LENGTH, given["seconds"])
    return {"runs": runs}


if __name__ == "__main__":
    answer(measure)
