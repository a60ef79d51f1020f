"""Opening a file far larger than RAM: time and memory, beside np.memmap and reading it all."""

import os
import tempfile

import numpy as np
import torch
from common import median_seconds, report

import graphzero as gz
from sparse import write_sparse_gd, write_sparse_gl

ROWS, COLUMNS = 39_062_500, 128  # 20 GB of float32
NODES, EDGES = 1 << 26, 1 << 30  # 0.5 GB of indptr, 4.3 GB of indices


def anonymous_growth(body):
    """Bytes of anonymous memory that ``body`` leaves behind, its result kept."""
    gz.memory_report()
    before = gz.memory_report().anonymous
    kept = body()
    return gz.memory_report().anonymous - before, kept


def main():
    rows = []

    def measure(name, body, check):
        growth, kept = anonymous_growth(body)
        if not check(kept):
            rows.append({"what": name, "median": "WRONG RESULT, no time"})
            return
        seconds = median_seconds(body, repeat=200)
        rows.append({"what": name, "median": f"{seconds * 1e6:.0f} µs", "anonymous": f"{growth / 1e3:.0f} kB"})

    write_sparse_gd("x.gd", shape=(ROWS, COLUMNS), dtype="float32")
    write_sparse_gl("g.gl", num_nodes=NODES, num_edges=EDGES)
    sizes = {"x.gd": f"{os.path.getsize('x.gd') / 1e9:.1f} GB", "g.gl": f"{os.path.getsize('g.gl') / 1e9:.1f} GB"}

    measure("FeatureStore(x.gd)", lambda: gz.FeatureStore("x.gd"), lambda fs: fs.shape == (ROWS, COLUMNS))
    measure(
        "torch.from_numpy(FeatureStore(x.gd).get_tensor())",
        lambda: torch.from_numpy(gz.FeatureStore("x.gd").get_tensor()),
        lambda t: tuple(t.shape) == (ROWS, COLUMNS),
    )
    measure("Graph(g.gl)", lambda: gz.Graph("g.gl"), lambda g: g.get_degree(NODES - 1) == EDGES)
    measure(
        "rival: np.memmap(x.gd), no check of anything",
        lambda: np.memmap("x.gd", dtype=np.float32, mode="r", offset=4096, shape=(ROWS, COLUMNS)),
        lambda m: m.shape == (ROWS, COLUMNS),
    )
    report("open", {"threads": gz.num_threads(), "files": "sparse", **sizes}, rows)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main()
        os.chdir("/")
