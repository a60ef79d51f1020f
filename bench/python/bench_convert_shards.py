"""What a conversion in shards costs beside the plain one: CPU time of each step per edge, from text and from Parquet.

python bench_convert_shards.py [--scale 20] [--shards 8] [--memory 4GB] [--quick]

R-MAT, 16 edges per node, both indexes, edge ids. A task holds fewer edges than the plain conversion within the same
memory: where only the latter spills to disk, the ratio says little about the steps, so the table has a column for it.
"""

import argparse
import filecmp
import os
import resource
import tempfile
import time

import numpy as np
from common import report
from rmat import rmat_edges

import graphzero as gz
from graphzero.convert import sharded


def cost(body):
    """Return seconds of CPU, and by the clock."""

    def used():
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime

    cpu, begin = used(), time.perf_counter()
    body()
    return used() - cpu, time.perf_counter() - begin


def write_sources(scale):
    import pyarrow as pa
    import pyarrow.parquet as pq

    src, dst = (np.concatenate(ends) for ends in zip(*rmat_edges(scale, 16), strict=True))
    pq.write_table(pa.table({"src": src, "dst": dst}), "edges.parquet", row_group_size=1 << 20)
    pa.csv.write_csv(pa.table({"src": src, "dst": dst}), "edges.csv")
    return len(src)


def partition(plan, memory):
    for task in range(plan.num_tasks):
        sharded.partition_edges(plan.folder, task, memory=memory)


def compile_all(plan, memory):
    for index in plan.indexes:
        for shard in range(plan.shards):
            sharded.compile_shard(plan.folder, index, shard, memory=memory)


def main(scale, shards, memory):
    import pyarrow.csv  # noqa: F401

    edges = write_sources(scale)
    rows = []
    for source in ("edges.csv", "edges.parquet"):
        size = os.path.getsize(source)
        spilled = gz.convert_edges(source, "plain.gl", memory=memory).spilled  # the page cache is warm for both
        plain = cost(lambda source=source: gz.convert_edges(source, "plain.gl", memory=memory))
        steps = {}
        steps["plan"] = cost(
            lambda source=source, size=size: sharded.plan_shards(
                source, "steps", shards=shards, task_size=max(size // 4, 1)
            )
        )
        plan = sharded.plan_shards(source, "steps", shards=shards, task_size=max(size // 4, 1))
        steps["partition"] = cost(lambda plan=plan: partition(plan, memory))
        steps["compile"] = cost(lambda plan=plan: compile_all(plan, memory))
        steps["commit"] = cost(lambda: sharded.commit_shards("steps", "sharded.gl"))
        steps["all steps"] = tuple(map(sum, zip(*steps.values(), strict=True)))
        same = filecmp.cmp("plain.gl", "sharded.gl", shallow=False)
        for name, (cpu, wall) in {"convert_edges": plain, **steps}.items():
            row = {"source": source, "step": name}
            if same:
                row |= {"ns CPU an edge": f"{cpu / edges * 1e9:.1f}", "x plain": f"{cpu / plain[0]:.2f}"}
                row["seconds"] = f"{wall:.2f}"
                if name == "convert_edges":
                    row["spilled"] = f"{spilled / 1e6:.0f} MB"
            else:
                row["ns CPU an edge"] = "WRONG RESULT, no time"
            rows.append(row)
    conditions = {"edges": f"{edges:,}", "shards": shards, "threads": gz.num_threads(), "memory": memory}
    report("convert in shards", conditions, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--quick", action="store_const", dest="scale", const=14)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--memory", default="4GB")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        os.chdir(folder)
        main(given.scale, given.shards, given.memory)
        os.chdir("..")
