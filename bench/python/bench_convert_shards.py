"""What a conversion in shards costs beside the plain one: CPU time of each step, per edge and per number of features.

python bench_convert_shards.py [--scale 20] [--shards 8] [--memory 4GB] [--repeat 3] [--only edges|features]
    [--quick]

Edges: R-MAT, 16 edges per node, both indexes, edge ids, from text and from Parquet. A task holds fewer edges than the
plain conversion within the same memory: where only the latter spills to disk, the ratio says little about the steps, so
the table has a column for it. Features: rows of 64 float32 for each node, from text, Parquet and ``.npy``, and by
id in any order from text. The plain conversion and the steps run in turns, and each figure is the median of all turns.
Before each, 2 GB of memory are touched and given back, so that both find pages that this machine has.
"""

import argparse
import filecmp
import os
import resource
import shutil
import statistics
import tempfile
import time

import numpy as np
from common import report
from rmat import rmat_edges

import graphzero as gz
from graphzero.convert import sharded, sharded_features

FRESH = 2 << 30  # bytes


def cost(body):
    """Return seconds of CPU, and by the clock."""
    # A virtual machine may have to get pages that it has not used for a while from its host, at ten times the cost of
    # writing to others. Whichever of two ways is first would pay for both.
    np.ones(FRESH, np.uint8)

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


def edge_steps(source, shards, memory):
    """Yield the steps of a conversion of edges, each to be called."""
    size = max(os.path.getsize(source) // 4, 1)
    yield "plan", lambda: sharded.plan_shards(source, "steps", shards=shards, task_size=size)
    plan = sharded.plan_shards(source, "steps", shards=shards, task_size=size)
    yield "partition", lambda: partition(plan, memory)
    yield "compile", lambda: compile_all(plan, memory)
    yield "commit", lambda: sharded.commit_shards("steps", "sharded.gl")


def row_steps(source, options, shards, memory):
    """Yield those of a conversion of rows."""
    yield "plan", lambda: sharded_features.plan_features(source, "steps", shards=shards, **options)
    plan = sharded_features.plan_features(source, "steps", shards=shards, **options)
    yield "convert", lambda: [sharded_features.convert_rows("steps", i, memory=memory) for i in range(plan.num_tasks)]
    if plan.has_ids:
        yield "place", lambda: [sharded_features.place_rows("steps", i, memory=memory) for i in range(plan.num_parts)]
    yield "commit", lambda: sharded_features.commit_features("steps", "sharded.gd")


def compared(name, count, unit, repeat, plain, steps, ending):
    """Return rows of the table: the plain conversion and the steps, in turns. No time for a wrong answer."""
    spilled = getattr(plain(), "spilled", 0)  # the page cache is warm for both
    costs = {}
    for _ in range(repeat):
        turn = {"plain": cost(plain)}
        for step, body in steps():
            turn[step] = cost(body)
        if not filecmp.cmp(f"plain.{ending}", f"sharded.{ending}", shallow=False):
            return [{"source": name, "step": "plain", f"ns CPU a{unit}": "WRONG RESULT, no time"}]
        turn["all steps"] = tuple(map(sum, zip(*(turn[step] for step in turn if step != "plain"), strict=True)))
        for step, (cpu, wall) in turn.items():
            costs.setdefault(step, []).append((cpu, cpu / turn["plain"][0], wall))
        shutil.rmtree("steps")
    rows = []
    for step, found in costs.items():
        cpu, ratio, wall = (statistics.median(values) for values in zip(*found, strict=True))
        row = {"source": name, "step": step, f"ns CPU a{unit}": f"{cpu / count * 1e9:.1f}", "x plain": f"{ratio:.2f}"}
        rows.append(
            row | {"seconds": f"{wall:.2f}"} | ({"spilled": f"{spilled / 1e6:.0f} MB"} if step == "plain" else {})
        )
    return rows


WIDTH = 64


def write_rows(count):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    rows = rng.standard_normal((count, WIDTH), np.float32)
    np.save("x.npy", rows)
    columns = {f"c{i}": rows[:, i] for i in range(WIDTH)}
    pq.write_table(pa.table(columns), "x.parquet", row_group_size=max(1, count // 16))
    pa.csv.write_csv(pa.table(columns), "x.csv")
    order = rng.permutation(count)
    pa.csv.write_csv(pa.table({"id": order, **{name: column[order] for name, column in columns.items()}}), "by-id.csv")
    return {
        "x.npy": {"dtype": "float16"},
        "x.parquet": {"dtype": "float32"},
        "x.csv": {"dtype": "float32"},
        "by-id.csv": {"dtype": "float32", "id_column": "id", "num_rows": count},
    }


def edge_table(scale, shards, memory, repeat, conditions):
    edges = write_sources(scale)
    rows = []
    for source in ("edges.csv", "edges.parquet"):
        rows += compared(
            source, edges, "n edge", repeat,
            lambda source=source: gz.convert_edges(source, "plain.gl", memory=memory),
            lambda source=source: edge_steps(source, shards, memory), "gl",
        )  # fmt: skip
    report("convert edges in shards", {"edges": f"{edges:,}", **conditions}, rows)


def row_table(scale, shards, memory, repeat, conditions):
    rows, count = [], 1 << scale
    for source, options in write_rows(count).items():
        rows += compared(
            source, count * WIDTH, " number", repeat,
            lambda source=source, options=options: gz.convert_features(source, "plain.gd", memory=memory, **options),
            lambda source=source, options=options: row_steps(source, options, shards, memory), "gd",
        )  # fmt: skip
    report("convert features in shards", {"rows": f"{count:,} of {WIDTH}", **conditions}, rows)


def main(scale, shards, memory, repeat, only):
    import pyarrow.csv  # noqa: F401

    conditions = {"shards": shards, "threads": gz.num_threads(), "memory": memory, "turns": repeat}
    for name, table in (("edges", edge_table), ("features", row_table)):
        if only in (None, name):
            table(scale, shards, memory, repeat, conditions)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--quick", action="store_const", dest="scale", const=14)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", choices=("edges", "features"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        os.chdir(folder)
        main(given.scale, given.shards, given.memory, given.repeat, given.only)
        os.chdir("..")
