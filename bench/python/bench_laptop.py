"""A pipeline in the shape of a laptop: few cores, a slow disk, little memory, a graph of papers100M's size.

    python bench_laptop.py FOLDER [--preset papers100m] [--cores 4] [--disk 500MB] [--memory 3GB] [--batches 150]

FOLDER holds the synthetic data set of that preset, rows hottest first, or gets it. The process may run on so many cores
and read so many bytes per second (a control group's io.max). Its group has the memory of the budget, that of the
topology, and 1 GB. Batches of 1,024 with fanouts 15, 10, 5 are sampled and gathered; no model. Reports what the plan
expected, what was found, and what limits. Rows of every fiftieth batch are compared with the file's.
"""

import argparse
import json
import os
import sys
import time

import numpy as np
from common import answer, report

import graphzero as gz
from graphzero._base.memory_sizes import byte_count, byte_text
from graphzero._tools.cgroup import ControlGroup

FANOUTS, BATCH_SIZE, WARM_UP = [15, 10, 5], 1024, 10
BESIDE = 1 << 30


def epoch(folder, memory, num_batches):
    """Take batches and print what they took; runs inside the control group."""
    data = gz.open(folder)
    data.graph.preload()
    store = data.features("x")
    seeds = data.split("train")[: (num_batches + 1) * BATCH_SIZE]
    pipeline = gz.Pipeline(
        data.graph,
        seeds,
        FANOUTS,
        features={"x": store},
        batch_size=BATCH_SIZE,
        shuffle=True,
        seed=1,
        reader="direct",
        memory=memory,
    )
    first = time.perf_counter()
    for batch in pipeline:
        if batch.number == WARM_UP:
            begin, before = time.perf_counter(), pipeline.stats()
        if batch.number % 50 == 0:
            some = slice(None, None, 1000)
            expected = store.gather(batch.sample.node[some], reader="mmap")
            assert np.array_equal(batch.node_features["x"][some], expected), "rows are not those of the file"
        if batch.number == num_batches:
            break
        del batch
    seconds, stats = time.perf_counter() - begin, pipeline.stats()
    read = stats["device_bytes"] - before["device_bytes"]
    print(
        json.dumps(
            {
                "batches/s": f"{(num_batches - WARM_UP) / seconds:.2f}",
                "until batch 10, s": f"{begin - first:.0f}",
                "disk, MB/s": f"{read / seconds / 1e6:.0f}",
                "hits": f"{stats['hit_rate']:.1%}",
                "ahead": stats["most_ahead"],
                "limit": stats["roofline"]["limit"],
                "anonymous": byte_text(gz.memory_report().anonymous),
                "plan": stats["plan"]["reason"],
            }
        )
    )


def limit_reads(group, device, bytes_per_second):
    """Throttle what the group reads from a device."""
    controllers = group.path.parent / "cgroup.subtree_control"
    if controllers.exists() and "io" not in controllers.read_text().split():
        controllers.write_text("+io")
    (group.path / "io.max").write_text(f"{os.major(device)}:{os.minor(device)} rbps={bytes_per_second}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--preset", default="papers100m")
    parser.add_argument("--cores", type=int, default=4)
    parser.add_argument("--disk", default="500MB", help="bytes per second")
    parser.add_argument("--memory", default="3GB")
    parser.add_argument("--batches", type=int, default=150)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        epoch(given.folder, given.memory, given.batches)
        return
    if not os.path.exists(given.folder):
        gz.synthesize(given.folder, preset=given.preset, order="hot", progress=True)
    with gz.open(given.folder) as data:
        topology = os.path.getsize(data.graph.path)
        device = os.stat(data.features("x").path).st_dev
        nodes, edges = data.num_nodes, data.num_edges
    group = ControlGroup(byte_count(given.memory) + topology + BESIDE)
    limit_reads(group, device, byte_count(given.disk))
    command = ["taskset", "-c", f"0-{given.cores - 1}", sys.executable, __file__, *sys.argv[1:], "--inside"]
    found = answer(group.command(command))
    conditions = {
        "nodes": f"{nodes:,}",
        "edges": f"{edges:,}",
        "cores": given.cores,
        "disk": f"{given.disk}/s",
        "memory": given.memory,
        "batch": BATCH_SIZE,
        "fanouts": FANOUTS,
        "plan": found.pop("plan"),
    }
    report("a laptop's shape, no model", conditions, [found])


if __name__ == "__main__":
    main()
