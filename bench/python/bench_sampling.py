"""Sampling neighbourhoods beside the limit of RAM: threads, stored edge ids, weights, hubs.

python bench_sampling.py [FOLDER] [--scale 22] [--quick]
FOLDER holds in.gl, both.gl and weighted.gl, or gets them: R-MAT, edge factor 16; without one they are made anew.
RIVALS_PYTHON names a Python that has torch and pyg-lib, for draws by weight; graphzero bench has the other rivals.
"""

import os

import numpy as np
from common import (
    best_seconds,
    edges_per_second,
    limit_conditions,
    read_limits,
    report,
    run_on_rmat,
    run_rival,
    with_ratios,
)
from rmat import rmat_without_sinks
from weight_laws import wrong_draws

import graphzero as gz
from graphzero._tools.cores import one_core
from graphzero.bench.rivals.clock import PATIENCE
from graphzero.bench.rivals.samplers import FANOUTS
from graphzero.bench.sample_checks import SampleCheck

NUM_BATCHES, BATCH, STARTS = 20, 1024, 100_000
OPTIONS = {
    "in.gl": {"index": "in", "edge_ids": False},
    "both.gl": {},
    "weighted.gl": {"index": "in", "edge_ids": False},
}
RIVAL = "pyg-lib, weighted"
# What others measured on another machine; shown where the rival is missing, never compared with.
ELSEWHERE = "2.4 batches/s"


def make_graphs(folder, scale):
    for name, options in OPTIONS.items():
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            edges = rmat_without_sinks(scale, 16, weighted=name == "weighted.gl")
            gz.convert_edges(edges, path, num_nodes=1 << scale, **options)
    graphs = {name: gz.Graph(os.path.join(folder, name)) for name in OPTIONS}
    for graph in graphs.values():
        graph.preload()
    return graphs


def our_rows(what, task, graph, batches, ways, **options):
    """A row for each way to use threads: (threads across batches, threads inside one, words for it)."""
    checker = SampleCheck(graph, FANOUTS)
    hood = gz.sample_neighbors(graph, batches[0], FANOUTS, seed=1, **options)
    wrong = checker.wrong_edges(hood.node, hood.row, hood.col, hood.edge, batches[0]) or checker.wrong_counts(hood)
    if not wrong and task == "weighted":
        wrong = wrong_draws(graph, hood, FANOUTS)
    if wrong:
        return [{"what": what, "task": task, "note": f"WRONG RESULT, no time: {wrong}"}], len(hood.row)
    numbered = list(enumerate(batches))

    def count_edges(batch):
        return len(gz.sample_neighbors(graph, batch[1], FANOUTS, seed=2, batch=batch[0], **options).row)

    rows = []
    for across, inside, words in ways:
        gz.set_num_threads(inside)
        with one_core(across * inside == 1):
            rate = edges_per_second(count_edges, numbered, across)
        rows.append({"what": f"{what}{words}", "task": task, "threads": across * inside, "rate": rate})
    gz.set_num_threads(0)
    for row in rows:
        row["batches/s"] = f"{row['rate'] / len(hood.row):.1f}"
    return rows, len(hood.row)


def rival_rows(folder, checker, seeds, edges):
    """A row for 1 and for 2 threads; one that says why, where the rival did not run."""
    rows = []
    for threads in (1, 2):
        result = os.path.join(folder, "sample.npz")
        given = {"name": RIVAL, "folder": folder, "seconds": PATIENCE, "result": result}
        found = run_rival("RIVALS_PYTHON", "rivals.samplers", given, threads=threads)
        if isinstance(found, str):
            note = f"{found}; elsewhere {ELSEWHERE}: not measured in this run"
            return [{"what": f"rival: {RIVAL}", "task": "weighted", "note": note}]
        with np.load(result) as drawn:
            sample = dict(drawn)
        wrong = checker.wrong_edges(**sample, seeds=seeds)
        if not wrong and np.bincount(sample["col"]).max() > max(FANOUTS):
            wrong = "more edges into a node than the fanout"
        if not wrong and not 0.97 <= len(sample["row"]) / edges <= 1.03:
            wrong = f"{len(sample['row'])} edges where we draw {edges}"
        row = {"what": f"rival: {RIVAL}", "task": "weighted", "threads": threads}
        if wrong:
            row["note"] = f"WRONG RESULT, no time: {wrong}"
        else:
            rate = max(found["runs"])
            row |= {"rate": rate, "batches/s": f"{rate / len(sample['row']):.1f}"}
        rows.append(row)
    return rows


def hub_rows(folder, size):
    """10 neighbours of a node with ``size`` of them, and of nodes with 1,000: as many entries, hence as cold."""
    path = os.path.join(folder, "hub.gl")
    others = np.arange(1, size // 1000 + 1)
    src = np.concatenate([np.zeros(size, np.int64), np.repeat(others, 1000)])
    dst = np.concatenate([np.arange(size), (np.repeat(others, 1000) * 1000 + np.tile(np.arange(1000), len(others)))])
    rng = np.random.default_rng(3)
    gz.write_graph(path, src, dst % size, num_nodes=size, weight=1 - rng.random(len(src), np.float32), index="out")
    graph = gz.Graph(path)
    starts = {f"2^{size.bit_length() - 1}": np.zeros(STARTS, np.int64), "1,000": rng.choice(others, STARTS)}

    def uniform(nodes):
        table = graph.batch_random_fanout(nodes, 10)
        return np.repeat(nodes, 10), table.ravel(), table

    def weighted(nodes):
        # Disjoint trees: the draws for one node would be the same otherwise.
        hood = gz.sample_neighbors(graph, nodes, [10], direction="out", weighted=True, disjoint=True)
        return hood.node[hood.row], hood.node[hood.col], hood.node[hood.col].reshape(-1, 10)

    gz.set_num_threads(1)
    rows = []
    for law, draw in {"uniform": uniform, "weighted": weighted}.items():
        times = {}
        for words, nodes in starts.items():
            row = {"what": f"10 of {words} neighbours, {law}", "task": "hub", "threads": 1}
            near, far, table = draw(nodes)
            twice = (np.diff(np.sort(table, axis=1), axis=1) == 0).any()
            if twice or not np.array_equal(near, np.repeat(nodes, 10)) or not graph.has_edges(near, far).all():
                rows.append(row | {"note": "WRONG RESULT, no time"})
                continue
            with one_core():
                times[words] = best_seconds(lambda draw=draw, nodes=nodes: draw(nodes))
            rows.append(row | {"M edges/s": f"{10 * STARTS / times[words] / 1e6:.2f}"})
        if len(times) == 2:
            hub, small = times.values()
            rows[-2]["note"] = f"{hub / small:.2f} of the time of lists of 1,000"
    gz.set_num_threads(0)
    return rows


def main(folder, scratch, scale):
    scratch = os.path.abspath(scratch)
    load = os.getloadavg()[0]
    graphs = make_graphs(folder, scale)
    index = graphs["in.gl"].index("in")
    rng = np.random.default_rng(0)
    batches = rng.choice(np.flatnonzero(np.diff(index.indptr)), (NUM_BATCHES, BATCH), replace=False)
    weights = graphs["weighted.gl"].index("in")
    arrays = {"colptr": index.indptr, "row": index.indices, "seeds": batches}
    for name, array in arrays.items():
        np.save(os.path.join(scratch, f"{name}.npy"), array.astype(np.int64))
    np.save(os.path.join(scratch, "weight.npy"), weights.weights)

    limits = read_limits(os.path.getsize(os.path.join(folder, "in.gl")))
    ways = [(1, 1, ""), (2, 1, ", across batches"), (1, 2, ", inside a batch")]
    rows = our_rows("3 hops", "hops", graphs["in.gl"], batches, ways)[0]
    rows += our_rows("3 hops, stored edge ids", "hops", graphs["both.gl"], batches, ways)[0]
    more, edges = our_rows("3 hops, weighted", "weighted", graphs["weighted.gl"], batches, ways, weighted=True)
    rows += more
    rows += rival_rows(scratch, SampleCheck(graphs["weighted.gl"], FANOUTS), batches[0], edges)
    rows += hub_rows(scratch, 1 << min(scale + 2, 24))
    conditions = {
        "graph": f"R-MAT scale {scale}, {graphs['in.gl'].num_edges:,} edges",
        "fanouts": FANOUTS,
        "seeds": f"{BATCH:,} x {NUM_BATCHES} batches",
        "cache": "warm, by preload()",
        "load before": f"{load:.1f}",
        **limit_conditions(limits),
    }
    report("sample neighbours", conditions, with_ratios(rows, limits, "edges"))


if __name__ == "__main__":
    run_on_rmat(main, __doc__)
