"""Neighbour sampling from a topology four times larger than the memory that may hold it.

    python bench_cold_sampling.py [GRAPH.gl]

The graph needs an in index whose edge ids are positions; without one an R-MAT graph of scale 24 is made. Sampling runs
in a memory control group of a quarter of the file, page cache included, and starts cold.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from common import device_bytes, report
from rmat import rmat_edges

import graphzero as gz
from cgroups import limited_to
from graphzero._tools.page_cache import drop_from_page_cache

FANOUTS, SEEDS, BATCHES = [15, 10, 5], 1024, 12
SCALE, EDGE_FACTOR = 24, 16
PAGE = 4096


def pages_needed(graph, hood):
    """Return how many pages of the file hold the offsets and entries a batch read."""
    index = graph.index("in")
    frontier = hood.node[: sum(hood.num_sampled_nodes[:-1])]
    offsets = np.concatenate([frontier, frontier + 1]) * 8 + index.indptr.ctypes.data
    entries = hood.edge * index.indices.itemsize + index.indices.ctypes.data
    return len(np.unique(np.concatenate([offsets, entries]) // PAGE))


def sample(path):
    """Sample cold and print what it took; runs inside the control group."""
    graph = gz.Graph(path)
    rng = np.random.default_rng(3)
    read_before, needed, edges, seconds = device_bytes(), 0, 0, 0.0
    for batch in range(BATCHES):
        seeds = rng.integers(0, graph.num_nodes, SEEDS)
        begin = time.perf_counter()
        hood = gz.sample_neighbors(graph, seeds, FANOUTS, seed=1, batch=batch)
        seconds += time.perf_counter() - begin
        read = device_bytes() - read_before  # the check below reads nothing that is not there
        needed += pages_needed(graph, hood)
        edges += len(hood.edge)
    print(json.dumps({"edges": edges, "seconds": seconds, "read": read, "needed": needed * PAGE}))


def make_graph(path):
    """Write an R-MAT graph whose in index needs no edge ids."""
    gz.convert_edges(rmat_edges(SCALE, EDGE_FACTOR), "unsorted.gl", index="in", memory="4GB")
    index = gz.Graph("unsorted.gl").index("in")
    counts = np.diff(index.indptr)

    def sorted_edges(step=1 << 20):
        for first in range(0, len(counts), step):
            part = counts[first : first + step]
            begin, end = index.indptr[first], index.indptr[min(first + step, len(counts))]
            yield index.indices[begin:end], np.repeat(np.arange(first, first + len(part)), part)

    gz.convert_edges(sorted_edges(), path, index="in", num_nodes=len(counts), memory="4GB")
    os.unlink("unsorted.gl")


def main(path):
    size = os.path.getsize(path)
    drop_from_page_cache(path)
    command = [sys.executable, os.path.abspath(__file__), "--inside", path]
    answer = subprocess.run(limited_to(size // 4, command), capture_output=True, text=True, check=True).stdout
    found = json.loads(answer.splitlines()[-1])
    row = {
        "batches": BATCHES,
        "edges": f"{found['edges']:,}",
        "seconds": f"{found['seconds']:.2f}",
        "k edges/s": f"{found['edges'] / found['seconds'] / 1e3:.1f}",
        "k device reads/s": f"{found['read'] / PAGE / found['seconds'] / 1e3:.0f}",
        "device bytes per byte of pages needed": f"{found['read'] / found['needed']:.2f}",
    }
    conditions = {
        "file": f"{size / 1e6:.0f} MB",
        "memory group": f"{size / 4e6:.0f} MB",
        "fanouts": FANOUTS,
        "seeds": SEEDS,
        "threads": gz.num_threads(),
        "cache": "dropped before",
    }
    report("cold topology", conditions, [row])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        sample(sys.argv[2])
    elif len(sys.argv) > 1:
        main(os.path.abspath(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory(dir=".") as folder:
            os.chdir(folder)
            make_graph("graph.gl")
            main(os.path.abspath("graph.gl"))
            os.chdir("..")
