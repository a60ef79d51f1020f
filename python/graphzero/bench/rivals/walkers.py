"""Random walks of others.

Given ``name``, ``law``, ``walks``, ``folder``, ``threads``, ``seconds``, and ``result``, the file that walks are left
in, to be checked. The folder holds indptr.npy, indices.npy, starts.npy, of which the first are walked from, by weight
also weights.npy, and for GraphZero 0.2 graphzero02.gl or weighted02.gl.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .clock import rates_of
from .protocol import answer

LENGTH = 20
P, Q = 1.0, 0.5
Walker = Callable[[], Any]


def torch_cluster(law: str, folder: str, starts: Any, threads: int) -> Walker:
    """Walk with the operator of torch-cluster."""
    import torch
    import torch_cluster  # noqa: F401, registers the operator

    torch.set_num_threads(threads)
    indptr, indices = (torch.from_numpy(np.load(os.path.join(folder, f"{name}.npy"))) for name in ("indptr", "indices"))
    nodes, q = torch.from_numpy(starts), Q if law == "node2vec" else 1.0
    return lambda: torch.ops.torch_cluster.random_walk(indptr, indices, nodes, LENGTH, P, q)[0].numpy()


def dgl(law: str, folder: str, starts: Any, threads: int) -> Walker:
    """Walk by node2vec with DGL."""
    import dgl as library
    import torch

    torch.set_num_threads(threads)
    indptr, indices = (torch.from_numpy(np.load(os.path.join(folder, f"{name}.npy"))) for name in ("indptr", "indices"))
    # Ids of 4 bytes where they fit; and lists that it knows to be sorted, which it searches by halves.
    dtype = torch.int32 if max(len(indptr), len(indices)) <= torch.iinfo(torch.int32).max else torch.int64
    src = torch.repeat_interleave(indptr.diff()).to(dtype)
    graph = library.graph((src, indices.to(dtype)), num_nodes=len(indptr) - 1, row_sorted=True, col_sorted=True)
    graph = graph.formats("csr")
    graph.create_formats_()
    nodes = torch.from_numpy(starts).to(dtype)
    return lambda: library.sampling.node2vec_random_walk(graph, nodes, P, Q, LENGTH).numpy()


def pecanpy(law: str, folder: str, starts: Any, threads: int) -> Walker:
    """Walk with PecanPy."""
    import numba
    from numba_progress import ProgressBar
    from pecanpy import pecanpy as modes

    # PreComp would keep the square of every degree; its tables do not fit where there are hubs.
    mode = {"uniform": modes.FirstOrderUnweighted, "node2vec": modes.SparseOTF, "weighted": modes.PreCompFirstOrder}[
        law
    ]
    graph = mode(p=P, q=Q, random_state=1)
    graph.indptr = np.load(os.path.join(folder, "indptr.npy")).astype(np.uint32)
    graph.indices = np.load(os.path.join(folder, "indices.npy")).astype(np.uint32)
    if law == "weighted":
        graph.data = np.load(os.path.join(folder, "weights.npy"))
    else:
        graph.data = np.ones(len(graph.indices), np.float32)
    numba.set_num_threads(1)  # with two, the tables of 4 M nodes were not done in minutes
    graph.preprocess_transition_probs()
    numba.set_num_threads(threads)
    has_neighbors, forward = graph.get_has_nbrs(), graph.get_move_forward()

    # Below simulate_walks, which starts at every node of the graph and turns ids into text.
    def walk() -> Any:
        with ProgressBar(total=len(starts), disable=True) as progress:
            table = graph._random_walks(
                len(starts), LENGTH, 1, starts.astype(np.uint32), has_neighbors, forward, progress
            )
        return table[:, :-1]

    return walk


def graphzero02(law: str, folder: str, starts: Any, threads: int) -> Walker:
    """Walk with GraphZero 0.2."""
    import graphzero

    graph: Any = graphzero.Graph(
        os.path.join(folder, "weighted02.gl" if law == "weighted" else "graphzero02.gl")
    )  # of 0.2, whose methods have other types
    nodes = starts.tolist()  # it reads lists faster than arrays
    if law == "uniform":
        # Its last step is always to node 0, so it is asked for one more.
        return lambda: graph.batch_random_walk_uniform(nodes, LENGTH + 1)[:, :-1]
    return lambda: graph.batch_random_walk(nodes, LENGTH, P, Q if law == "node2vec" else 1.0)


WALKERS = {"torch-cluster": torch_cluster, "DGL": dgl, "PecanPy": pecanpy, "GraphZero 0.2": graphzero02}


def standing_still(walks: Any) -> Any:
    """Return the walks with their last node repeated, where DGL leaves -1 behind a dead end."""
    steps = np.maximum.accumulate(np.where(walks >= 0, np.arange(walks.shape[1]), 0), axis=1)
    return np.take_along_axis(walks, steps, axis=1)


def measure(given: dict[str, Any]) -> dict[str, Any]:
    """Walk once to be checked, then for the clock."""
    starts = np.load(os.path.join(given["folder"], "starts.npy"))[: given["walks"]]
    begin = time.perf_counter()
    walk = WALKERS[given["name"]](given["law"], given["folder"], starts, given["threads"])
    np.savez(given["result"], walks=standing_still(walk().astype(np.int64)))
    setup = time.perf_counter() - begin
    return {"runs": rates_of(walk, len(starts) * LENGTH, given["seconds"]), "setup": setup}


if __name__ == "__main__":
    answer(measure)
