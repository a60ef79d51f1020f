"""How many rows per second come through the window, where the disk is not the limit.

    python bench_misses.py [--rows 1000000] [--row-bytes 256] [--batch 200000] [--batches 60]

Batches of random nodes without neighbours, no row cached: all rows are asked for, read by the sweep, and copied. The
file is small beside what the batches need of it, so a turn of the sweep brings most rows for many batches.
"""

import argparse
import json
import os
import tempfile
import time

import numpy as np
from common import report

import graphzero as gz

GOALS = {2: 2e6, 16: 8e6}  # rows per second, by cores


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--row-bytes", type=int, default=256)
    parser.add_argument("--batch", type=int, default=200_000)
    parser.add_argument("--batches", type=int, default=60)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        graph, rows = os.path.join(folder, "none.gl"), os.path.join(folder, "x.gd")
        gz.write_graph(graph, [0], [1], num_nodes=given.rows)
        values = np.arange(given.rows, dtype=np.float32)
        gz.write_features(rows, np.repeat(values[:, None], given.row_bytes // 4, axis=1))
        seeds = np.concatenate([rng.permutation(given.rows)[: given.batch] for _ in range(given.batches)])
        pipeline = gz.Pipeline(
            gz.Graph(graph),
            seeds,
            [],
            features=gz.FeatureStore(rows),
            batch_size=given.batch,
            memory="4GB",
            cache=0,
            reader="direct",
        )
        rates = []
        for _ in range(3):
            begin, before = time.perf_counter(), pipeline.stats()
            for batch in pipeline:
                assert np.array_equal(batch.node_features["x"][:, 0], values[batch.sample.node]), "wrong rows"
                del batch
            seconds, stats = time.perf_counter() - begin, pipeline.stats()
            rates.append(given.batches * given.batch / seconds)
            read = (stats["device_bytes"] - before["device_bytes"]) / seconds
        cores = gz.num_threads()
        row = {
            "M rows/s": f"{max(rates) / 1e6:.1f}",
            "goal": f">= {GOALS[cores] / 1e6:.0f}" if cores in GOALS else "",
            "of each epoch": json.dumps([round(rate / 1e6, 1) for rate in rates]),
            "disk MB/s": f"{read / 1e6:.0f}",
            "ahead": stats["most_ahead"],
        }
    conditions = {name: f"{value:,}" for name, value in vars(given).items()} | {"threads": cores, "cache": 0}
    report("rows through the window", conditions, [row])


if __name__ == "__main__":
    main()
