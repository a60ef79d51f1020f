"""Power-law graphs for benchmarks: R-MAT (Chakrabarti, Zhan, Faloutsos, SDM 2004) with Graph500's parameters."""

import numpy as np


def rmat_edges(scale, edge_factor, seed=42, batch=1 << 22):
    """Yield batches of (src, dst) int64 arrays; about ``edge_factor << scale`` edges in all."""
    rng = np.random.default_rng(seed)
    left = edge_factor << scale
    while left > 0:
        count = min(batch, left)
        src, dst = np.zeros(count, np.int64), np.zeros(count, np.int64)
        for _ in range(scale):
            # The quadrants have odds 0.57, 0.19, 0.19, 0.05.
            draw = rng.random(count, dtype=np.float32)
            src = src << 1 | (draw >= 0.76)
            dst = dst << 1 | (((draw >= 0.57) & (draw < 0.76)) | (draw >= 0.95))
        left -= count
        yield src, dst


def rmat_without_sinks(scale, edge_factor, weighted=False):
    """Yield the same batches, then one that gives every node with edges into it alone an edge out of it.

    No walk comes to a dead end there. With ``weighted`` a batch has weights above 0 too, at most 1.
    """
    rng = np.random.default_rng(7)
    sends, receives = np.zeros((2, 1 << scale), np.bool_)
    for src, dst in rmat_edges(scale, edge_factor):
        sends[src] = receives[dst] = True
        yield (src, dst, 1 - rng.random(len(src), np.float32)) if weighted else (src, dst)
    sinks = np.flatnonzero(receives & ~sends)
    ends = rng.choice(np.flatnonzero(sends), len(sinks))
    yield (sinks, ends, 1 - rng.random(len(sinks), np.float32)) if weighted else (sinks, ends)


def write_csv(path, scale, edge_factor):
    """Write the edges as text with a header line."""
    import polars

    with open(path, "wb") as file:
        for i, (src, dst) in enumerate(rmat_edges(scale, edge_factor)):
            polars.DataFrame({"src": src, "dst": dst}).write_csv(file, include_header=i == 0)
