"""Batches from disk: how near a pipeline with a part of the memory comes to one with everything in RAM.

    python bench_pipeline.py [FOLDER] [--scale 22] [--quick]

FOLDER holds an R-MAT graph, in.gl, and 128 features per node as float32, float16 and int8, by id and hottest first, or
gets them: 8 GB at scale 22; without one they are made anew. graphzero bench has the rivals, and batches under a model.

Each figure is of a process of its own, with files dropped from the page cache before, and read once past it, so that
each finds the same device (a host that caches the disks of its machines does not); those with a share of the memory
run in a memory control group of 512 MB more than the pipeline may hold, page cache included. No model runs. --quick
only shows that everything works.
"""

import functools
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
from common import device_bytes, report, run_on_rmat, watched
from rmat import rmat_without_sinks
from roofline import misses_by_degree, misses_by_next_use, read_cost

import graphzero as gz
from cgroups import limited_to
from graphzero._tools.page_cache import drop_from_page_cache, read_from_device
from graphzero.bench.rivals.samplers import FANOUTS

FULL_SCALE, QUICK_SCALE = 22, 18
COLUMNS = 128
CHECKED_AT_ONCE = 8192  # rows; what is expected of a batch would be as large as the batch
NUM_BATCHES, QUICK_BATCHES = 419, 24
CHECK_EVERY, CHECKED_BATCHES = 10, 100
OVER = 512 << 20  # the control group has so much more than the pipeline may hold
BESIDE_CACHE = 350 << 20  # for batches, where a row tells the size of the cache alone
ALLOWED_PEAK = 150e6  # above what the pipeline may hold: the interpreter and what it has loaded
STORED = {"float32": "float32", "float16": "float16", "int8": "int8-quantised"}
# Batches/s of in-RAM float32, by type and share of the float32 bytes, if that is for everything.
GOALS = {
    ("float32", 20): 0.5,
    ("float32", 10): 0.2,
    ("float16", 20): 0.95,
    ("float16", 10): 0.7,
    ("int8", 10): 0.95,
}


def feature_rows(ids):
    """Features of nodes: whole numbers up to 127, which float16 and int8 times a scale of 1 hold exactly."""
    columns = np.arange(COLUMNS, dtype=np.uint32)
    mixed = ids.astype(np.uint32)[:, None] * (2 * columns + 0x9E3779B1) + columns * 0x85EBCA6B
    rows = (mixed >> 12).astype(np.uint8).view(np.int8).clip(-127)
    rows[:, 0] = 127  # so that the scale of every row is 1
    return rows


def rows_are_right(rows, ids):
    """Whether each row is its id's, from end to end."""
    for first in range(0, len(ids), CHECKED_AT_ONCE):
        part = slice(first, first + CHECKED_AT_ONCE)
        if not np.array_equal(rows[part], feature_rows(ids[part])):
            return False
    return len(rows) == len(ids)


def feature_path(folder, stored, order):
    return os.path.join(folder, f"{stored}_{order}.gd")


def make_files(folder, scale):
    graph_path = os.path.join(folder, "in.gl")
    num_nodes = 1 << scale
    if not os.path.exists(graph_path):
        gz.convert_edges(rmat_without_sinks(scale, 16), graph_path, num_nodes=num_nodes, index="in", edge_ids=False)

    def blocks(step=1 << 16):
        for first in range(0, num_nodes, step):
            yield feature_rows(np.arange(first, min(first + step, num_nodes))).astype(np.float32)

    with gz.Graph(graph_path) as graph:
        for stored, dtype in STORED.items():
            by_id, hot = (feature_path(folder, stored, order) for order in ("id", "hot"))
            if not os.path.exists(by_id):
                gz.convert_features(blocks(), by_id, dtype=dtype)
            if not os.path.exists(hot):
                gz.reorder(by_id, hot, graph)
    return graph_path


def options_of(given):
    names = ("memory", "cache", "dtype", "reader")
    return {"batch_size": given["batch"], "shuffle": True, "seed": 1, **{name: given[name] for name in names}}


def pipeline_of(given, graph):
    store = gz.FeatureStore(given["features"])
    seeds = np.load(given["seeds"])
    return gz.Pipeline(graph, seeds, FANOUTS, features=store, **options_of(given)), store, seeds


def wrong_batch(batch, graph, store, seeds):
    """What is wrong with a batch, or nothing."""
    sample = gz.sample_neighbors(graph, seeds[batch.input_id], FANOUTS, seed=1, epoch=batch.epoch, batch=batch.number)
    for name in ("node", "row", "col", "edge"):
        if not np.array_equal(getattr(batch.sample, name), getattr(sample, name)):
            return f"{name} of batch {batch.number} is not what sample_neighbors draws"
    if not rows_are_right(batch.node_features["x"], batch.sample.node):
        return f"batch {batch.number} has rows of other nodes"
    return None


def run_epochs(given):
    """Two epochs on the clock and part of a third that is checked; runs in a process of its own."""
    graph = gz.Graph(given["graph"])
    graph.preload()
    with watched() as watch:  # what checks hold is not the pipeline's
        begin = time.perf_counter()
        pipeline, store, seeds = pipeline_of(given, graph)
        epochs, ahead = [], []
        for epoch in range(2):
            before, read_before, cpu_before = pipeline.stats(), device_bytes(), time.process_time()
            begin = time.perf_counter() if epoch else begin  # the first has its preparation in it
            for count, _ in enumerate(pipeline):
                if epoch and count % CHECK_EVERY == 0:
                    ahead.append(pipeline.stats()["batches_ahead"])
            seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu_before
            after = pipeline.stats()
            names = (
                "rows",
                "cached_rows",
                "mapped_rows",
                "read_rows",
                "late_rows",
                "device_reads",
                "device_bytes",
            )
            counts = {name: after[name] - before[name] for name in names}
            read = device_bytes() - read_before
            epochs.append({"seconds": seconds, "cpu": cpu, "read": read, **counts})
    wrong = None
    for batch in pipeline:
        if batch.number % CHECK_EVERY == 0:
            wrong = wrong or wrong_batch(batch, graph, store, seeds)
        if wrong or batch.number >= CHECKED_BATCHES:
            break
    source = after["sources"]["x"]
    return {
        "epochs": epochs,
        "batches": len(pipeline),
        "row_bytes": store.row_bytes,
        "ahead": sum(ahead) / len(ahead),
        "most_ahead": after["most_ahead"],
        "expected": after["plan"]["read_bytes"],
        "preparing": after["seconds_preparing"],
        "cached_rows": source["cached_rows"],
        "reader": source["reader"],
        "reason": source["reason"],
        "peak": watch.peak_anonymous or 0,
        "wrong": wrong,
    }


class Bench:
    """The files of a run, and what has been found out about them."""

    def __init__(self, folder, scratch, scale):
        self.folder, self.scratch, self.scale = folder, scratch, scale
        self.is_full = scale >= FULL_SCALE
        self.graph = make_files(folder, scale)
        self.float32_bytes = (4 * COLUMNS) << scale
        self.batch = max(1024 >> max(FULL_SCALE - scale, 0), 32)
        num_batches = NUM_BATCHES if self.is_full else QUICK_BATCHES
        self.seeds = os.path.join(scratch, "input_nodes.npy")
        with gz.Graph(self.graph) as graph:
            index = graph.index("in")
            with_edges = np.flatnonzero(np.diff(index.indptr))
            chosen = np.random.default_rng(0).permutation(with_edges)[: num_batches * self.batch]
            np.save(self.seeds, chosen)
            self.num_batches = len(chosen) // self.batch
            appearances = np.bincount(index.indices, minlength=1 << scale)
            self.rank = np.empty(1 << scale, np.int32)
            self.rank[np.argsort(-appearances, kind="stable")] = np.arange(1 << scale)
            looks = min(self.num_batches, 100 if self.is_full else 10)
            self.looked_at, edges = [], []
            for number, part in enumerate(chosen[: looks * self.batch].reshape(looks, -1)):
                hood = gz.sample_neighbors(graph, part, FANOUTS, seed=2, batch=number)
                self.looked_at.append(hood.node.astype(np.int32))
                edges.append(len(hood.row))
            self.edges, self.edges_spread = float(np.mean(edges)), float(np.std(edges))
            del index  # a page that is mapped cannot be dropped from the page cache
        hot = feature_path(folder, "float32", "hot")
        read_from_device(hot)
        self.cost = read_cost(hot, scratch, 4 if self.is_full else 0.5)
        self.in_ram = {}  # batches/s and CPU seconds per batch, by stored type

    @functools.cache  # noqa: B019, there is one bench
    def least_misses(self, cached_rows):
        """The fewest rows of a batch that a cache of so many can miss, by degree or by knowing what comes."""
        return min(of(self.looked_at, self.rank, cached_rows) for of in (misses_by_degree, misses_by_next_use))

    def given(self, stored, order, **more):
        defaults = {"memory": None, "cache": None, "dtype": None, "reader": "auto", "batch": self.batch}
        paths = {"graph": self.graph, "seeds": self.seeds, "features": feature_path(self.folder, stored, order)}
        return defaults | paths | more

    def child(self, given, limit=None):
        """What a process of its own finds, or the last line of its error."""
        if limit is not None:
            drop_from_page_cache(given["features"])
            read_from_device(given["features"])
            drop_from_page_cache(given["graph"])  # it is to count for the control group
        command = [sys.executable, os.path.abspath(__file__), "--epochs", json.dumps(given)]
        command = command if limit is None else limited_to(limit, command)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            killed = done.returncode in (-signal.SIGKILL, -signal.SIGKILL & 0xFF)
            return "killed, for want of memory" if killed else lines[-1]
        return json.loads(done.stdout.splitlines()[-1])

    def limited(self, given):
        """The same in a control group: ``auto`` has to find out that the file does not fit where that is so."""
        limit = given["memory"] + OVER
        fits = os.path.getsize(given["features"]) < limit / 2
        found = self.child(given | {"reader": "direct" if fits else "auto"}, limit)
        if isinstance(found, dict) and ": direct:" not in found["reason"]:
            return f"expected reads from the device, found {found['reason']}"
        return found


def rates(found):
    return [found["batches"] / epoch["seconds"] for epoch in found["epochs"]]


def epoch_columns(found):
    """The columns that every run of a pipeline has."""
    if isinstance(found, str):
        return {"note": f"no result: {found}"}
    if found["wrong"]:
        return {"note": f"WRONG RESULT, no time: {found['wrong']}"}
    first, second = rates(found)
    epoch = found["epochs"][1]
    return {
        "batches/s epoch 1": f"{first:.1f}",
        "epoch 2": f"{second:.1f}",
        "1 / 2": f"{first / second:.2f}",
        "CPU ms": f"{epoch['cpu'] / found['batches'] * 1e3:.1f}",
        "peak MB": f"{found['peak'] / 1e6:.0f}",
    }


def in_ram(bench):
    rows = []
    for stored in STORED:
        for dtype in (None,) if stored == "float32" else (None, "float32"):
            found = bench.child(bench.given(stored, "id", reader="mmap", dtype=dtype))
            if isinstance(found, dict) and not found["wrong"] and dtype is None:
                rate, cpu = rates(found)[1], found["epochs"][1]["cpu"] / found["batches"]
                bench.in_ram[stored] = (rate, cpu)
            row = {"features": stored, "as": dtype or "stored", **epoch_columns(found)}
            if "float32" in bench.in_ram and "epoch 2" in row:
                row["of float32"] = f"{rates(found)[1] / bench.in_ram['float32'][0]:.2f}"
            rows.append(row)
    report("pipeline, in RAM", conditions(bench, **{"page cache": "warm"}), rows)


def shares():
    """(stored type, order, percent of the float32 bytes) of each row."""
    for percent in (40, 20, 10, 5):
        yield "float32", "hot", percent
    for percent in (20, 10):
        yield "float32", "id", percent
    for stored in ("float16", "int8"):
        for percent in (20, 10):
            yield stored, "hot", percent


def out_of_core(bench, reading):
    """A table of what was measured and one of what could have been; ``reading`` tells what a share is a share of."""
    measured, bounds = [], []
    for stored, order, percent in shares():
        share = bench.float32_bytes * percent // 100
        sizes = {"memory": share}
        if reading == "cache":
            own = bench.float32_bytes * np.dtype(stored).itemsize // 4
            sizes = {"cache": min(share, own), "memory": share + BESIDE_CACHE}
        found = bench.limited(bench.given(stored, order, **sizes))
        what = {"features": stored, "order": order, reading: f"{percent} %"}
        columns = epoch_columns(found)
        measured.append(what | columns)
        if "epoch 2" not in columns:
            continue
        measured[-1] |= read_columns(found)
        rate = rates(found)[1]
        if "float32" in bench.in_ram:
            measured[-1]["of in RAM"] = f"{rate / bench.in_ram['float32'][0]:.2f}"
            goal = GOALS.get((stored, percent)) if reading == "memory" else None
            measured[-1]["goal"] = "" if goal is None else f">= {goal}"
        row_bytes = COLUMNS * np.dtype(stored).itemsize
        bounds.append(what | {"batches/s": f"{rate:.1f}"} | roofline(bench, found, stored, share // row_bytes))
    beside = f", and {BESIDE_CACHE >> 20} MB beside it" if reading == "cache" else ", in all"
    more = {
        "page cache": "dropped before each, file read once from the device",
        "memory group": "memory + 512 MB",
        reading: f"of the float32 bytes{beside}",
        "goal of 1 / 2": ">= 0.9",
    }
    report(f"pipeline, out of core, by {reading}", conditions(bench, **more), measured)
    cost = bench.cost
    costs = {
        "4 kB reads": f"{cost.small_reads / 1e3:.0f} k/s",
        "device": f"{cost.per_read * 1e6:.2f} us per read + {cost.per_byte * 4096e6:.2f} us per 4 kB",
        "CPU": f"{cost.cpu_per_read * 1e6:.2f} us per read + {cost.cpu_per_byte * 4096e6:.2f} us per 4 kB",
        "goal of distance": ">= 0.85",
    }
    report(f"pipeline, roofline, by {reading}", costs, bounds)


def read_columns(found):
    epoch, batches = found["epochs"][1], found["batches"]
    wanted = epoch["read_rows"] * found["row_bytes"]
    return {
        "misses": f"{(epoch['rows'] - epoch['cached_rows'] - epoch['mapped_rows']) / epoch['rows']:.1%}",
        "reads/batch": f"{epoch['device_reads'] / batches:.0f}",
        "MB/batch": f"{epoch['device_bytes'] / batches / 1e6:.1f}",
        "expected": f"{found['expected'] / 1e6:.1f}",
        "amplification": f"{epoch['device_bytes'] / wanted:.1f}" if wanted else "",
        "ahead": f"{found['ahead']:.0f} of {found['most_ahead']}",
    }


def roofline(bench, found, stored, cached_rows):
    """What bounds a run: the cores, the device by the reads that were made, and by one read of 4 kB per miss."""
    epoch, batches, cost = found["epochs"][1], found["batches"], bench.cost
    reads, size = epoch["device_reads"] / batches, epoch["device_bytes"] / batches
    busy = reads * cost.per_read + size * cost.per_byte
    device = 1 / busy if busy else float("inf")
    misses = bench.least_misses(cached_rows)
    columns = {
        "device bound": f"{device:.1f}",
        "least misses": f"{misses:.0f}",
        "bound of 4 kB per miss": f"{cost.small_reads / misses:.1f}" if misses else "none",
    }
    if stored not in bench.in_ram:
        return columns
    work = bench.in_ram[stored][1] + reads * cost.cpu_per_read + size * cost.cpu_per_byte
    cpu = gz.num_threads() / work
    return {"CPU bound": f"{cpu:.1f}", **columns, "distance": f"{rates(found)[1] / min(cpu, device):.2f}"}


def budgets(bench):
    rows = []
    for memory in (256, 1000, 4000):
        given = bench.given("float32", "hot", memory=memory * 10**6, reader="direct")
        found = bench.child(given, given["memory"] + OVER)
        row = {"memory MB": memory, **epoch_columns(found)}
        if "peak MB" in row:
            over = found["peak"] - given["memory"]
            row |= {"over MB": f"{over / 1e6:.0f}", "holds": "yes" if over <= ALLOWED_PEAK else "NO"}
        rows.append(row)
    more = {"goal": "peak <= memory + 150 MB, and alive", "memory group": "memory + 512 MB", "reader": "direct"}
    report("pipeline, memory", conditions(bench, **more), rows)


def conditions(bench, **more):
    return {
        "graph": f"R-MAT scale {bench.scale}",
        "features": f"{COLUMNS}, {bench.float32_bytes / 1e6:.0f} MB as float32",
        "fanouts": FANOUTS,
        "batch": bench.batch,
        "batches": bench.num_batches,
        "threads": gz.num_threads(),
        "topology": "preloaded",
        **more,
    }


def main(folder, scratch, scale):
    folder, scratch = os.path.abspath(folder), os.path.abspath(scratch)
    os.environ["XDG_CACHE_HOME"] = scratch  # what reads cost is measured anew
    bench = Bench(folder, scratch, scale)
    in_ram(bench)
    for reading in ("cache", "memory"):
        out_of_core(bench, reading)
    budgets(bench)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--epochs"]:  # a process of its own
        print(json.dumps(run_epochs(json.loads(sys.argv[2]))))
    else:
        run_on_rmat(main, __doc__, QUICK_SCALE)
