"""Our pipeline, beside rivals/loaders.py. Given ``data``, a data set folder, ``memory`` and ``reader``."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

import graphzero as gz
from graphzero.bench.rivals.loaders import FANOUTS
from graphzero.bench.rivals.protocol import answer, wait_for_limit

STAGES = ("sampling", "reading", "assembling", "waiting")
_COUNTS = ("device_reads", "device_bytes", "hit_rate")


def since(after: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the stats of a pipeline tell of the time between two looks, as an answer."""
    names = {"waiting": "waited"}
    stages = {
        stage: after[f"seconds_{names.get(stage, stage)}"] - before[f"seconds_{names.get(stage, stage)}"]
        for stage in STAGES
    }
    return {"stages": stages} | {name: after[name] - (before[name] or 0) for name in _COUNTS[:2]} | {
        "hit_rate": after["hit_rate"], "reader": after["sources"]["x"]["reader"]
    }  # fmt: skip


def measure(given: dict[str, Any]) -> dict[str, Any]:
    """Take batches of two epochs, each for so many seconds at most, and one more to be checked."""
    dataset = gz.open(given["data"])
    dataset.graph.preload()
    seeds = np.load(os.path.join(given["folder"], "input_nodes.npy"))
    wait_for_limit(given)
    begin = time.perf_counter()
    pipeline = gz.Pipeline(
        dataset.graph, seeds, FANOUTS, features=dataset.features("x"), batch_size=given["batch_size"], shuffle=True,
        seed=1, memory=given["memory"], reader=given["reader"], threads=given["threads"],
    )  # fmt: skip
    runs, before, spent = [], pipeline.stats(), 0.0
    for epoch in range(given["epochs"]):
        begin = time.perf_counter() if epoch else begin  # the first has its preparation in it
        count = 0
        for _ in pipeline:
            count, seconds = count + 1, time.perf_counter() - begin
            if seconds > given["seconds"]:
                break
        runs.append(count / seconds)
        spent += seconds
    found = {"runs": runs, "seconds": spent} | since(pipeline.stats(), before)
    hood = next(iter(pipeline))
    x = hood.node_features["x"]
    np.savez(
        given["result"], node=hood.sample.node, row=hood.sample.row, col=hood.sample.col, x=x, seeds=len(hood.input_id)
    )
    return found


if __name__ == "__main__":
    answer(measure)
