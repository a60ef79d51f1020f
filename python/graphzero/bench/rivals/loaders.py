"""Loaders of others: PyG's NeighborLoader, with features in RAM or mapped by np.memmap.

Given ``features`` ("RAM" or "memmap"), ``workers``, ``folder``, ``batch_size``, ``columns``, ``threads``, ``seconds``,
and ``result``, the file that the last batch is left in, to be checked. The folder holds colptr.npy, row.npy,
input_nodes.npy and features.raw, of float32.
"""

from __future__ import annotations

import importlib.util
import os
import time
from typing import Any

import numpy as np

from .batch_arrays import edges_of, save_batch
from .protocol import answer, device_bytes, wait_for_limit
from .samplers import FANOUTS


def loader_of(given: dict[str, Any], **more: Any) -> Any:
    """Make the loader; ``more`` are tensors of nodes that batches are to have, too."""
    import torch
    from torch_geometric.data import Data
    from torch_geometric.loader import NeighborLoader

    def load(name: str) -> Any:
        return torch.from_numpy(np.load(os.path.join(given["folder"], f"{name}.npy")))

    path, columns = os.path.join(given["folder"], "features.raw"), given["columns"]
    if given["features"] == "memmap":
        x = np.memmap(path, np.float32, "r").reshape(-1, columns)
    else:
        x = np.fromfile(path, np.float32).reshape(-1, columns)
    colptr, row = load("colptr"), load("row")
    if importlib.util.find_spec("torch_sparse") is not None:
        from torch_sparse import SparseTensor

        # By rows of the transposed matrix, which are the lists to draw from: nothing has to be sorted.
        lists = SparseTensor(rowptr=colptr, col=row, sparse_sizes=(len(x), len(x)), is_sorted=True)
        data = Data(x=torch.from_numpy(x), adj_t=lists, num_nodes=len(x), **more)
    elif importlib.util.find_spec("pyg_lib") is not None:
        target = torch.repeat_interleave(colptr.diff())
        data = Data(x=torch.from_numpy(x), edge_index=torch.stack([row, target]), num_nodes=len(x), **more)
    else:
        raise ModuleNotFoundError("PyG's NeighborLoader needs torch-sparse or pyg-lib")
    return NeighborLoader(
        data,
        num_neighbors=FANOUTS,
        input_nodes=load("input_nodes"),
        batch_size=given["batch_size"],
        shuffle=True,
        num_workers=given["workers"],
        **({"is_sorted": True} if "edge_index" in data else {}),
    )


def measure(given: dict[str, Any]) -> dict[str, Any]:
    """Load batches of two epochs, each for a number of seconds at most."""
    import torch

    torch.set_num_threads(given["threads"])
    loader = loader_of(given)
    wait_for_limit(given)
    runs, batches, edges, spent = [], 0, 0, 0.0
    read_before = device_bytes()
    for _ in range(given["epochs"]):
        begin, count = time.perf_counter(), 0
        for batch in loader:
            seconds = time.perf_counter() - begin
            count, edges = count + 1, edges + edges_of(batch).shape[1]
            if seconds > given["seconds"]:
                break
        runs.append(count / seconds)
        batches, spent = batches + count, spent + seconds
    read = device_bytes()
    save_batch(given["result"], batch)
    found = {"runs": runs, "batches": batches, "seconds": spent, "edges": edges}
    return found if read is None or read_before is None else found | {"device_bytes": read - read_before}


if __name__ == "__main__":
    answer(measure)
