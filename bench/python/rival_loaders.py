"""The rival of bench_pipeline.py, for the Python that has it: rival_loaders.py FEATURES WORKERS FOLDER SECONDS THREADS.

PyG's NeighborLoader with FEATURES in RAM or mapped by np.memmap. FOLDER holds colptr.npy, row.npy, seeds.npy,
shape.json with the seeds of a batch and the shape of the features, and features.raw. Loads batches of one epoch for so
many seconds at most, then prints what it took as JSON.
"""

import json
import os
import sys
import time

import numpy as np

FANOUTS = [15, 10, 5]
COLUMNS = 128
CHECKED_AT_ONCE = 8192  # rows; what is expected of a batch would be as large as the batch


def feature_rows(ids):
    """Features of nodes: whole numbers up to 127, which float16 and int8 times a scale of 1 hold exactly."""
    columns = np.arange(COLUMNS, dtype=np.uint32)
    mixed = ids.astype(np.uint32)[:, None] * (2 * columns + 0x9E3779B1) + columns * 0x85EBCA6B
    rows = (mixed >> 12).astype(np.uint8).view(np.int8).clip(-127)
    rows[:, 0] = 127  # so that the scale of every row is 1
    return rows


def rows_are_right(rows, ids):
    """Whether each row is its id's, from end to end."""
    for first in range(0, len(ids), CHECKED_AT_ONCE):
        part = slice(first, first + CHECKED_AT_ONCE)
        if not np.array_equal(rows[part], feature_rows(ids[part])):
            return False
    return len(rows) == len(ids)


def loader_of(folder, features, workers):
    import torch
    from torch_geometric.data import Data
    from torch_geometric.loader import NeighborLoader
    from torch_sparse import SparseTensor

    def load(name):
        return np.load(os.path.join(folder, f"{name}.npy"))

    with open(os.path.join(folder, "shape.json")) as file:
        shape = json.load(file)
    path = os.path.join(folder, "features.raw")
    if features == "memmap":
        x = np.memmap(path, np.float32, "r", shape=(shape["rows"], COLUMNS))
    else:
        x = np.fromfile(path, np.float32).reshape(-1, COLUMNS)
    colptr, row = torch.from_numpy(load("colptr")), torch.from_numpy(load("row"))
    # By rows of the transposed matrix, which are the lists to draw from: nothing has to be sorted.
    lists = SparseTensor(rowptr=colptr, col=row, sparse_sizes=(shape["rows"], shape["rows"]), is_sorted=True)
    return NeighborLoader(
        Data(x=torch.from_numpy(x), adj_t=lists, num_nodes=shape["rows"]),
        num_neighbors=FANOUTS,
        input_nodes=torch.from_numpy(load("seeds")),
        batch_size=shape["batch"],
        shuffle=True,
        num_workers=workers,
    )


def main(features, workers, folder, seconds, threads):
    import torch

    torch.set_num_threads(threads)
    loader = loader_of(folder, features, workers)
    batches, edges = 0, 0
    begin = time.perf_counter()
    for batch in loader:
        spent = time.perf_counter() - begin
        batches, edges = batches + 1, edges + batch.adj_t.nnz()
        if spent > seconds:
            break
    right = rows_are_right(batch.x.numpy(), batch.n_id.numpy())
    print(json.dumps({"batches": batches, "seconds": spent, "edges": edges, "right": right}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4]), int(sys.argv[5]))
