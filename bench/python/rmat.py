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


def write_csv(path, scale, edge_factor):
    """Write the edges as text with a header line."""
    import polars

    with open(path, "wb") as file:
        for i, (src, dst) in enumerate(rmat_edges(scale, edge_factor)):
            polars.DataFrame({"src": src, "dst": dst}).write_csv(file, include_header=i == 0)
