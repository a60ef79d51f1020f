"""What more threads bring: sampling, pipelines, gathers and walks on 1 to all of them, beside the machine's limits.

    python bench_scaling.py [DATASET …] [--edges 1000000 10000000 …] [--threads 1 2 4 …] [--only CALL …]

Each DATASET is a folder with a graph and features "x". For each number of edges a data set is drawn (blocks, 16 edges a
node, 128 float16 features) and removed again; without either, 10^6 to 10^8 edges. Files are in the page cache. No time
is printed for an answer that differs from that of one thread. Limits are of this machine and measured in this run:
random reads over an array as large as the topology (random_reads.cpp) and rows copied by hand (row_reads.cpp). Column x
is the last rate over the first.
"""

import argparse
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from common import answer, compiled, read_limits, report

import graphzero as gz
from graphzero.bench.rivals.clock import rates_of

FANOUTS, BATCH = [15, 10, 5], 1024
NUM_CALLS, NUM_BATCHES = 12, 160
ROWS, WALKS, LENGTH = 1_000_000, 400_000, 20
DRAWN_EDGES = [10**6, 10**7, 10**8]
LEAST_EDGES = 10**6
CALLS = ("one call", "a call of 4 seeds", "pipeline", "pipeline with rows", "gather", "uniform walks")
PATIENCE = 2.0
MOST_READ_AT_RANDOM = 16 << 30  # bytes of the array of random_reads


def digest(arrays):
    found = hashlib.blake2b(digest_size=8)
    for array in arrays:
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


@dataclass(frozen=True)
class Call:
    unit: str
    work: float  # of one run, in units
    limit: str  # that it is compared with
    # For so many threads: a run, which returns arrays of what it found.
    make: Callable[[int], Callable[[], list[np.ndarray]]]


def calls(dataset, seeds):
    graph, features = dataset.graph, dataset.features("x")
    rng = np.random.default_rng(0)
    ids = rng.integers(0, features.num_rows, ROWS)
    starts = rng.integers(0, graph.num_nodes, WALKS)
    direction = graph.indexes[0]
    out = features.gather(ids, reader="mmap")

    def sample(size, number):
        several = np.resize(seeds, (number, size))
        fanouts = FANOUTS if size == BATCH else FANOUTS[:2]

        def make(threads):
            gz.set_num_threads(threads)

            def run():
                for i, batch in enumerate(several):
                    hood = gz.sample_neighbors(graph, batch, fanouts, seed=7, batch=i)
                return [hood.node, hood.row, hood.col]

            return run

        samples = (gz.sample_neighbors(graph, batch, fanouts, seed=7, batch=i) for i, batch in enumerate(several))
        return make, sum(len(hood.row) for hood in samples)

    def batches(**given):
        def make(threads):
            used = np.resize(seeds, NUM_BATCHES * BATCH)
            pipeline = gz.Pipeline(graph, used, FANOUTS, batch_size=BATCH, seed=7, threads=threads, **given)

            def run():
                pipeline.set_epoch(0)
                for batch in pipeline:
                    if batch.number == 2:
                        found = [batch.sample.node, batch.sample.row, *batch.node_features.values()]
                return found

            return run

        return make

    def gather(threads):
        gz.set_num_threads(threads)

        def run():
            features.gather(ids, out=out, reader="mmap")
            return [out]

        return run

    def walk(threads):
        gz.set_num_threads(threads)
        return lambda: [gz.random_walk(graph, starts, LENGTH, direction=direction, seed=7)]

    one_call, edges = sample(BATCH, NUM_CALLS)
    small_call, few_edges = sample(4, 1000)
    per_batch = edges / NUM_CALLS
    return {
        "one call": Call("M edges/s", edges / 1e6, "reads", one_call),
        "a call of 4 seeds": Call("M edges/s", few_edges / 1e6, "reads", small_call),
        "pipeline": Call("M edges/s", per_batch * NUM_BATCHES / 1e6, "reads", batches()),
        "pipeline with rows": Call("batches/s", NUM_BATCHES, "", batches(features=features, reader="mmap")),
        "gather": Call("M rows/s", ROWS / 1e6, "rows", gather),
        "uniform walks": Call("M steps/s", WALKS * LENGTH / 1e6, "reads", walk),
    }


def limits(dataset, threads):
    """Return what the machine allows, in millions per second by number of threads: random reads, and rows copied."""
    graph, features = dataset.graph, dataset.features("x")
    topology = min(os.path.getsize(graph.path), MOST_READ_AT_RANDOM)
    reads = {t: rate / 1e6 for t, rate in read_limits(topology, threads).items()}
    with tempfile.TemporaryDirectory() as folder:
        ids = os.path.join(folder, "ids")
        np.random.default_rng(0).integers(0, features.num_rows, ROWS).tofile(ids)
        offset = os.path.getsize(features.path) - features.num_rows * features.row_bytes
        command = [compiled("row_reads", folder), "copy", features.path, offset, features.row_bytes, ids]
        rows = {t: ROWS / answer([*command, t])["best"] / 1e6 for t in threads}
    return {"reads": reads, "rows": rows}


def measure(dataset, name, threads, only):
    dataset.graph.preload()
    with open(dataset.features("x").path, "rb") as file:
        while file.read(64 << 20):
            pass
    allowed = limits(dataset, threads)
    seeds = np.random.default_rng(1).permutation(dataset.split("train"))
    rows = [{"call": f"limit: random {of}", "unit": f"M {of}/s"} for of in ("reads", "rows")]
    for row, of in zip(rows, ("reads", "rows"), strict=True):
        row |= {f"T={t}": f"{allowed[of][t]:.1f}" for t in threads}
    for words, call in calls(dataset, seeds).items():
        if only and words not in only:
            continue
        row, expected, rates = {"call": words, "unit": call.unit}, None, {}
        for t in threads:
            run = call.make(t)
            found = digest(run())
            expected = expected or found
            if found != expected:
                row[f"T={t}"] = "WRONG RESULT, no time"
                continue
            rates[t] = max(rates_of(run, call.work, PATIENCE))
            row[f"T={t}"] = f"{rates[t]:.1f}"
        gz.set_num_threads(0)
        last = threads[-1]
        if last in rates and threads[0] in rates:
            row["x"] = f"{rates[last] / rates[threads[0]]:.1f}"
        if last in rates and call.limit:
            row["of the limit"] = f"{rates[last] / allowed[call.limit][last]:.2f}"
        rows.append(row)
        print(row, file=sys.stderr)
    conditions = {"data": name, "nodes": f"{dataset.graph.num_nodes:,}", "edges": f"{dataset.graph.num_edges:,}"}
    conditions |= {"fanouts": FANOUTS, "seeds": BATCH, "row": f"{dataset.features('x').row_bytes} B", "cache": "warm"}
    report("threads", conditions, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="*")
    parser.add_argument("--edges", type=lambda text: int(float(text)), nargs="*", default=[])
    parser.add_argument("--threads", type=int, nargs="*")
    parser.add_argument("--only", nargs="*", choices=CALLS)
    given = parser.parse_args()
    if min(given.edges, default=LEAST_EDGES) < LEAST_EDGES or min(given.threads or [1]) < 1:
        parser.error(f"expected at least {LEAST_EDGES:,} edges and one thread")
    most = gz.num_threads()
    threads = given.threads or [t for t in (1, 2, 4, 8, 16, 32, 64) if t < most] + [most]
    for path in given.datasets:
        measure(gz.open(path), os.path.basename(path), threads, given.only)
    for edges in given.edges or ([] if given.datasets else DRAWN_EDGES):
        with tempfile.TemporaryDirectory(dir=".") as folder:
            dataset = gz.synthesize(os.path.join(folder, "drawn"), edges // 16, edges, train=0.8, valid=0.1, test=0.1)
            measure(dataset, "drawn blocks", threads, given.only)
            dataset.close()


if __name__ == "__main__":
    main()
