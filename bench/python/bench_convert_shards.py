"""What a conversion in shards costs beside the plain one: CPU time of each step, per edge and per number of features.

python bench_convert_shards.py [--scale 20] [--shards 8] [--memory 4GB] [--repeat 3] [--only edges|features]
    [--engine local|ray] [--quick]

Edges: R-MAT, 16 edges per node, both indexes, edge ids, from text and from Parquet. A task holds fewer edges than the
plain conversion within the same memory: where only the latter spills to disk, the ratio says little about the steps, so
the table has a column for it. Features: rows of 64 float32 for each node, from text, Parquet and ``.npy``, and by
id in any order from text. The plain conversion and the steps run in turns, and each figure is the median of all turns.
Before each, 2 GB of memory are touched and given back, so that both find pages that this machine has.

``--engine ray``: edges, on a Ray cluster of two nodes on this machine that share its cores, with one thread for each
task. CPU time is that of all processes of the cluster from the plan to the end: of this one, which plans, waits and
commits; of those that run tasks; and of Ray's own. The cluster and the processes for tasks are there before. "The first
one" is a conversion that has to start the latter, and to load libraries there, as that of every command has.
"""

import argparse
import filecmp
import os
import pathlib
import resource
import shutil
import statistics
import tempfile
import time
from contextlib import contextmanager

import numpy as np
from common import report
from rmat import rmat_edges

import graphzero as gz
from graphzero._base.memory_sizes import byte_count
from graphzero.convert import ray_engine, sharded, sharded_features

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


def costs_here(steps):
    """Return CPU time and time of each step by its name."""
    return {step: cost(body) for step, body in steps}


def cpu_below():
    """Return seconds of CPU of this process and those below it by kind of process.

    A process has what its children took that have ended, so that nothing is counted twice or lost.
    """
    parents, seconds, kinds = {}, {}, {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            title = (entry / "cmdline").read_bytes()
        except OSError:
            continue  # it has ended
        process = int(entry.name)
        parents[process] = int(fields[1])
        seconds[process] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        runs_tasks = title.startswith(b"ray::") or b"default_worker.py" in title
        kinds[process] = "processes of tasks" if runs_tasks else "Ray's own processes"
    kinds[os.getpid()] = "this process"
    found = dict.fromkeys(("this process", "processes of tasks", "Ray's own processes"), 0.0)
    for process, kind in kinds.items():
        above = process
        while above in parents and above != os.getpid():
            above = parents[above]
        if above == os.getpid():
            found[kind] += seconds[process]
    return found


def costs_on_ray(source, shards, memory):
    """Convert on the cluster, and return CPU time by kind of process; the time is told once."""
    np.ones(FRESH, np.uint8)
    before, begin = cpu_below(), time.perf_counter()
    sharded.plan_shards(source, "steps", shards=shards, task_size=max(os.path.getsize(source) // 4, 1))
    ray_engine.run_on_ray("steps", "sharded.gl", memory=memory)
    wall = time.perf_counter() - begin
    cpu = {kind: after - before[kind] for kind, after in cpu_below().items()}
    return {kind: (cpu[kind], wall if kind == "this process" else 0.0) for kind in cpu}


@contextmanager
def ray_nodes(memory):
    """Start a cluster of two nodes on this machine, and connect to it."""
    import ray
    from ray.cluster_utils import Cluster

    room = byte_count(memory) + (1 << 30)
    node = {"num_cpus": max(1, (os.cpu_count() or 1) // 2), "memory": room, "object_store_memory": 80 << 20}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    try:
        cluster.add_node(**node)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        yield ray.__version__
    finally:
        ray.shutdown()
        cluster.shutdown()


def compared(name, count, unit, repeat, plain, steps, ending):
    """Return rows of the table: the plain conversion and the steps, in turns. No time for a wrong answer."""
    spilled = getattr(plain(), "spilled", 0)  # the page cache is warm for both
    costs = {}
    for _ in range(repeat):
        turn = {"plain": cost(plain)}
        turn |= steps()
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
        row["seconds"] = f"{wall:.2f}" if wall else ""
        rows.append(row | ({"spilled": f"{spilled / 1e6:.0f} MB"} if step == "plain" else {}))
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
            lambda source=source: costs_here(edge_steps(source, shards, memory)), "gl",
        )  # fmt: skip
    report("convert edges in shards", {"edges": f"{edges:,}", **conditions}, rows)


def ray_table(scale, shards, memory, repeat, conditions):
    edges = write_sources(scale)
    rows = []
    with ray_nodes(memory) as version:
        for source in ("edges.csv", "edges.parquet"):
            first = sum(cpu for cpu, _ in costs_on_ray(source, shards, memory).values())
            shutil.rmtree("steps")
            rows += compared(
                source, edges, "n edge", repeat,
                lambda source=source: gz.convert_edges(source, "plain.gl", memory=memory),
                lambda source=source: costs_on_ray(source, shards, memory), "gl",
            )  # fmt: skip
            rows.append({"source": source, "step": "the first one", "ns CPU an edge": f"{first / edges * 1e9:.1f}"})
    told = {"edges": f"{edges:,}", "nodes": 2, "threads of a task": 1, "Ray": version}
    report("convert edges on Ray", told | conditions, rows)


def row_table(scale, shards, memory, repeat, conditions):
    rows, count = [], 1 << scale
    for source, options in write_rows(count).items():
        rows += compared(
            source, count * WIDTH, " number", repeat,
            lambda source=source, options=options: gz.convert_features(source, "plain.gd", memory=memory, **options),
            lambda source=source, options=options: costs_here(row_steps(source, options, shards, memory)), "gd",
        )  # fmt: skip
    report("convert features in shards", {"rows": f"{count:,} of {WIDTH}", **conditions}, rows)


def main(scale, shards, memory, repeat, only, engine):
    import pyarrow.csv  # noqa: F401

    conditions = {"shards": shards, "threads": gz.num_threads(), "memory": memory, "turns": repeat}
    if engine == "ray":
        ray_table(scale, shards, memory, repeat, conditions)
        return
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
    parser.add_argument("--engine", choices=("local", "ray"), default="local")
    given = parser.parse_args()
    if given.engine == "ray" and given.only == "features":
        parser.error("--engine ray: expected edges, found --only features")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        os.chdir(folder)
        main(given.scale, given.shards, given.memory, given.repeat, given.only, given.engine)
        os.chdir("..")
