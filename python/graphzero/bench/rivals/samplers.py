"""Neighbour samplers of others.

Given ``name``, ``folder``, ``threads``, ``seconds``, and ``result``, the file that the first sample is left in, to be
checked. The folder holds colptr.npy, row.npy and seeds.npy (a row per batch), for weights weight.npy, and for
GraphZero 0.2 starts.npy and graphzero02.gl.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from .clock import batch_rates, rates_of
from .protocol import answer

FANOUTS = [15, 10, 5]
FANOUT = 10  # of GraphZero 0.2, which draws one hop
Sampler = Callable[[Any], tuple[Any, Any, Any, Any]]


def tensors(folder: str, *names: str) -> list[Any]:
    """Load arrays of the folder."""
    import torch

    torch.set_num_threads(1)  # threads work across batches; none of the samplers is faster inside one
    return [torch.from_numpy(np.load(os.path.join(folder, f"{name}.npy"))) for name in names]


def torch_sparse(folder: str) -> Sampler:
    """Sample with the operator of torch-sparse."""
    import torch
    import torch_sparse  # noqa: F401, registers the operator

    colptr, row = tensors(folder, "colptr", "row")
    draw = torch.ops.torch_sparse.neighbor_sample
    return lambda seeds: draw(colptr, row, torch.from_numpy(seeds), FANOUTS, False, True)


def pyg_lib(folder: str, weighted: bool = False) -> Sampler:
    """Sample with pyg-lib."""
    import torch
    from pyg_lib.sampler import neighbor_sample

    colptr, row = tensors(folder, "colptr", "row")
    weight = tensors(folder, "weight")[0] if weighted else None

    def sample(seeds: Any) -> tuple[Any, Any, Any, Any]:
        found = neighbor_sample(colptr, row, torch.from_numpy(seeds), FANOUTS, edge_weight=weight, csc=True)
        return found[2], found[0], found[1], found[3]

    return sample


def pyg_lib_weighted(folder: str) -> Sampler:
    """Sample by weight with pyg-lib."""
    return pyg_lib(folder, weighted=True)


def graphbolt(folder: str) -> Sampler:
    """Sample with DGL's GraphBolt, whose nodes and edge ids take 4 bytes where they fit: so it is fastest."""
    import torch
    from dgl import graphbolt

    colptr, row = tensors(folder, "colptr", "row")
    dtype = torch.int32 if max(len(colptr), len(row)) <= torch.iinfo(torch.int32).max else torch.int64
    # It gives edge ids only of a graph that has them.
    ids = {graphbolt.ORIGINAL_EDGE_ID: torch.arange(len(row), dtype=dtype)}
    graph = graphbolt.fused_csc_sampling_graph(colptr, row.to(dtype), edge_attributes=ids)

    # Each hop draws for all nodes so far, as its own sampler does; new nodes stand behind those of the hop before.
    def sample(seeds: Any) -> tuple[Any, Any, Any, Any]:
        node, rows, cols, edges = torch.from_numpy(seeds).to(dtype), [], [], []
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


def graphzero02(given: dict[str, Any]) -> dict[str, Any]:
    """Draw one hop with GraphZero 0.2."""
    import graphzero

    graph = graphzero.Graph(os.path.join(given["folder"], "graphzero02.gl"))
    starts = np.load(os.path.join(given["folder"], "starts.npy")).tolist()  # it reads lists faster than arrays
    drawn = graph.batch_random_fanout(starts, FANOUT)
    np.savez(given["result"], drawn=drawn)
    return {"runs": rates_of(lambda: graph.batch_random_fanout(starts, FANOUT), given["edges"], given["seconds"])}


def measure(given: dict[str, Any]) -> dict[str, Any]:
    """Sample, leave the first sample, and time all batches."""
    if given["name"] == "GraphZero 0.2":
        return graphzero02(given)
    sample = SAMPLERS[given["name"]](given["folder"])
    batches = list(np.load(os.path.join(given["folder"], "seeds.npy")))
    node, row, col, edge = (part.numpy() for part in sample(batches[0]))
    np.savez(given["result"], node=node, row=row, col=col, edge=edge)
    runs = batch_rates(lambda seeds: len(sample(seeds)[1]), batches, given["threads"], given["seconds"])
    return {"runs": runs}


if __name__ == "__main__":
    answer(measure)
