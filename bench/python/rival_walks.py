"""The rivals of bench_walks.py, for the Python that has them: rival_walks.py NAME LAW WALKS FOLDER THREADS.

FOLDER holds indptr.npy, indices.npy, weights.npy, starts.npy and for GraphZero 0.2 plain.gl and weighted.gl. The
first WALKS starts are walked from. The walks are left there as NAME.npy, to be checked; times are printed as JSON.
"""

import json
import os
import sys
import time

import numpy as np
from clock import best_seconds

LENGTH = 20
P, Q = 1.0, 0.5


def torch_cluster(law, folder, starts, threads):
    import torch
    import torch_cluster  # noqa: F401, registers the operator

    torch.set_num_threads(threads)
    indptr, indices = (torch.from_numpy(np.load(os.path.join(folder, f"{name}.npy"))) for name in ("indptr", "indices"))
    nodes, q = torch.from_numpy(starts), Q if law == "node2vec" else 1.0
    return lambda: torch.ops.torch_cluster.random_walk(indptr, indices, nodes, LENGTH, P, q)[0].numpy()


def pecanpy(law, folder, starts, threads):
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
    weights = np.load(os.path.join(folder, "weights.npy"))
    graph.data = weights if law == "weighted" else np.ones_like(weights)
    numba.set_num_threads(1)  # with two, the tables of 4 M nodes were not done in minutes
    graph.preprocess_transition_probs()
    numba.set_num_threads(threads)
    has_neighbors, forward = graph.get_has_nbrs(), graph.get_move_forward()

    # Below simulate_walks, which starts at every node of the graph and turns ids into text.
    def walk():
        with ProgressBar(total=len(starts), disable=True) as progress:
            table = graph._random_walks(
                len(starts), LENGTH, 1, starts.astype(np.uint32), has_neighbors, forward, progress
            )
        return table[:, :-1]

    return walk


def graphzero02(law, folder, starts, threads):
    import graphzero

    graph = graphzero.Graph(os.path.join(folder, "weighted.gl" if law == "weighted" else "plain.gl"))
    nodes = starts.tolist()  # it reads lists faster than arrays
    if law == "uniform":
        # Its last step is always to node 0, so it is asked for one more.
        return lambda: graph.batch_random_walk_uniform(nodes, LENGTH + 1)[:, :-1]
    return lambda: graph.batch_random_walk(nodes, LENGTH, P, Q if law == "node2vec" else 1.0)


WALKERS = {"torch-cluster": torch_cluster, "PecanPy": pecanpy, "GraphZero 0.2": graphzero02}

if __name__ == "__main__":
    name, law, walks, folder, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
    starts = np.load(os.path.join(folder, "starts.npy"))[:walks]
    begin = time.perf_counter()
    walk = WALKERS[name](law, folder, starts, threads)
    np.save(os.path.join(folder, f"{name}.npy"), walk().astype(np.int64))
    setup = time.perf_counter() - begin
    print()
    print(json.dumps({"seconds": best_seconds(walk), "setup": setup}))
