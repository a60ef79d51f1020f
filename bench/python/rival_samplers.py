"""The rivals of bench_sampling.py, for the Python that has them: rival_samplers.py NAME FOLDER THREADS.

FOLDER holds colptr.npy, row.npy, weight.npy, seeds.npy (a row per batch), and for GraphZero 0.2 starts.npy and
graphzero02.gl. What a rival drew first is left there as NAME.npz, to be checked; its rate is printed as JSON.
"""

import json
import os
import sys

import numpy as np
from clock import best_seconds, edges_per_second

FANOUTS = [15, 10, 5]


def tensors(folder, *names):
    import torch

    torch.set_num_threads(1)  # threads work across batches; none of the samplers is faster inside one
    return [torch.from_numpy(np.load(os.path.join(folder, f"{name}.npy"))) for name in names]


def torch_sparse(folder):
    import torch
    import torch_sparse  # noqa: F401, registers the operator

    colptr, row = tensors(folder, "colptr", "row")

    def sample(seeds):
        return torch.ops.torch_sparse.neighbor_sample(colptr, row, torch.from_numpy(seeds), FANOUTS, False, True)

    return sample


def pyg_lib(folder, weighted=False):
    import torch
    from pyg_lib.sampler import neighbor_sample

    colptr, row, weight = tensors(folder, "colptr", "row", "weight")

    def sample(seeds):
        found = neighbor_sample(
            colptr, row, torch.from_numpy(seeds), FANOUTS, edge_weight=weight if weighted else None, csc=True
        )
        return found[2], found[0], found[1], found[3]

    return sample


def pyg_lib_weighted(folder):
    return pyg_lib(folder, weighted=True)


def graphbolt(folder):
    import torch
    from dgl import graphbolt

    colptr, row = tensors(folder, "colptr", "row")
    graph = graphbolt.fused_csc_sampling_graph(colptr, row)

    # Each hop draws for all nodes so far, as its own sampler does; new nodes stand behind those of the hop before.
    def sample(seeds):
        node, rows, cols, edges = torch.from_numpy(seeds), [], [], []
        for fanout in FANOUTS:
            drawn = graph.sample_neighbors(node, torch.tensor([fanout]))
            node, compact = graphbolt.unique_and_compact_csc_formats(drawn.sampled_csc, node)[:2]
            rows.append(compact.indices)
            cols.append(torch.repeat_interleave(compact.indptr.diff()))
            edges.append(drawn.original_edge_ids)
        return node, torch.cat(rows), torch.cat(cols), torch.cat(edges)

    return sample


SAMPLERS = {
    "torch-sparse": torch_sparse,
    "pyg-lib": pyg_lib,
    "pyg-lib, weighted": pyg_lib_weighted,
    "GraphBolt": graphbolt,
}


def run_sampler(name, folder, threads):
    sample = SAMPLERS[name](folder)
    batches = list(np.load(os.path.join(folder, "seeds.npy")))
    node, row, col, edge = (part.numpy() for part in sample(batches[0]))
    np.savez(os.path.join(folder, f"{name}.npz"), node=node, row=row, col=col, edge=edge)
    return {"rate": edges_per_second(lambda seeds: len(sample(seeds)[1]), batches, threads)}


def run_graphzero02(folder):
    import graphzero

    graph = graphzero.Graph(os.path.join(folder, "graphzero02.gl"))
    starts = np.load(os.path.join(folder, "starts.npy")).tolist()  # it reads lists faster than arrays
    np.savez(os.path.join(folder, "GraphZero 0.2.npz"), drawn=graph.batch_random_fanout(starts, 10))
    return {"seconds": best_seconds(lambda: graph.batch_random_fanout(starts, 10))}


if __name__ == "__main__":
    name, folder, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    found = run_graphzero02(folder) if name == "GraphZero 0.2" else run_sampler(name, folder, threads)
    print()
    print(json.dumps(found))
