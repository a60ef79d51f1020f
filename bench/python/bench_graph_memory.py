"""A pipeline in control groups in which the topology has room beside the rows, or has not.

    python bench_graph_memory.py

Draws an R-MAT graph of 4 M nodes and 100 M edges (432 MB of topology) with 128 float32 features, hottest first. Each
row begins with cold files, in a group of its own, page cache included. Faults are those that waited for the device, one
at a time; "topology" is what was read through the page cache.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import device_bytes, report

import graphzero as gz
from cgroups import limited_to
from graphzero._base.memory_sizes import byte_text
from graphzero._tools.page_cache import drop_from_page_cache

FANOUTS, SEEDS, BATCHES = [15, 10, 5], 1024, 50
MB = 10**6
# The limit of the group, and memory=; None is the default.
CASES = [(1030, 430), (800, 430), (800, 320), (800, None), (600, 290), (600, None)]


def epoch(folder, memory):
    """Take batches and print what they took; runs inside the control group."""
    read_before, data = device_bytes(), gz.open(folder)
    pipeline = gz.Pipeline(
        data, "train", FANOUTS, batch_size=SEEDS, shuffle=True, seed=1, reader="direct", memory=memory
    )
    begin = time.perf_counter()
    for batch in pipeline:
        if batch.number == 0:
            first = time.perf_counter() - begin
        if batch.number == BATCHES - 1:
            break
        del batch
    seconds = time.perf_counter() - begin
    stats = pipeline.stats()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
    rows = stats["device_bytes"] + stats["fill_bytes"]
    row = {
        "memory": byte_text(stats["memory"]["budget"]) + (" (default)" if memory is None else ""),
        "first batch, s": f"{first:.1f}",
        "batches/s": f"{BATCHES / seconds:.1f}",
        "faults": f"{faults:,}",
        "topology read": byte_text(device_bytes() - read_before - rows),
        "rows read": byte_text(rows),
        "s of sampling": f"{stats['seconds_sampling']:.1f}",
        "topology resident": f"{stats['topology']['resident'] / stats['topology']['bytes']:.0%}",
    }
    print(json.dumps(row))


def main():
    with tempfile.TemporaryDirectory(dir=".") as folder:
        made = os.path.abspath(f"{folder}/made")
        gz.synthesize(
            made, 4_000_000, 100_000_000, kind="rmat", feature_dtype="float32", index="in", edge_ids=False, order="hot"
        )
        rows = []
        for limit, memory in CASES:
            for file in Path(made).rglob("*.g[ld]"):
                drop_from_page_cache(file)
            arguments = json.dumps([made, None if memory is None else memory * MB])
            command = limited_to(limit * MB, [sys.executable, os.path.abspath(__file__), "--inside", arguments])
            answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            rows.append({"group": f"{limit} MB", **json.loads(answer)})
    conditions = {
        "fanouts": FANOUTS,
        "seeds": SEEDS,
        "batches": BATCHES,
        "threads": gz.num_threads(),
        "cache": "dropped",
    }
    report("graph beside the rows", conditions, rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        epoch(*json.loads(sys.argv[2]))
    else:
        main()
