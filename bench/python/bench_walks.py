"""Random walks beside the limit of RAM, and by weight beside PecanPy and GraphZero 0.2.

python bench_walks.py [FOLDER] [--scale 22] [--quick]
FOLDER holds walks.gl, or gets it: R-MAT, edge factor 16, out index, weights; without one it is made anew.
RIVALS_PYTHON names a Python that has PecanPy, GRAPHZERO02_PYTHON one that has GraphZero 0.2; graphzero bench has the
rivals of the other laws.
"""

import os

import numpy as np
from common import best_seconds, limit_conditions, read_limits, report, run_on_rmat, run_rival, with_ratios
from rmat import rmat_without_sinks
from weight_laws import wrong_steps

import graphzero as gz
from files import graphzero02_gl
from graphzero._tools.cores import one_core
from graphzero.bench.rivals.clock import PATIENCE
from graphzero.bench.rivals.walkers import LENGTH, P, Q
from graphzero.bench.walk_laws import wrong_second_steps
from graphzero.bench.walks import wrong_walks

WALKS = 100_000
LAWS = {"uniform": {}, "node2vec": {"p": P, "q": Q}, "weighted": {"weighted": True}}
# From how many starts a rival walks by weight: those below WALKS are slow.
RIVALS = {"PecanPy": ("RIVALS_PYTHON", WALKS), "GraphZero 0.2": ("GRAPHZERO02_PYTHON", 2000)}


def wrong_in(graph, starts, walks, law):
    wrong = wrong_walks(graph, starts, walks, LENGTH) or wrong_steps(graph.index(), walks, law)
    if wrong or law == "weighted":
        return wrong
    return wrong_second_steps(graph, walks, P, Q if law == "node2vec" else 1.0)


def our_rows(graph, law, starts):
    wrong = wrong_in(graph, starts, gz.random_walk(graph, starts, LENGTH, seed=1, **LAWS[law]), law)
    if wrong:
        return [{"what": law, "task": law, "note": f"WRONG RESULT, no time: {wrong}"}]
    rows = []
    for threads in (1, 2):
        gz.set_num_threads(threads)
        with one_core(threads == 1):
            seconds = best_seconds(lambda: gz.random_walk(graph, starts, LENGTH, **LAWS[law]))
        rows.append({"what": law, "task": law, "threads": threads, "walks": f"{len(starts):,}"})
        rows[-1]["rate"] = len(starts) * LENGTH / seconds
    gz.set_num_threads(0)
    return rows


def rival_rows(graph, name, starts, folder):
    variable, walks = RIVALS[name]
    law, rows = "weighted", []
    for threads in (1, 2):
        row = {"what": f"rival: {name}", "task": law, "threads": threads, "walks": f"{walks:,}"}
        result = os.path.join(folder, "walks.npz")
        given = {"name": name, "law": law, "walks": walks, "folder": folder, "seconds": PATIENCE, "result": result}
        found = run_rival(variable, "rivals.walkers", given, threads=threads)
        if isinstance(found, str):
            return [*rows, row | {"note": found}]
        with np.load(result) as file:
            wrong = wrong_in(graph, starts[:walks], file["walks"], law)
        if wrong:
            rows.append(row | {"note": f"WRONG RESULT, no time: {wrong}"})
            continue
        note = f"set-up and first walks {found['setup']:.0f} s, not counted"
        if walks < WALKS:
            note = f"fewer walks; {note}"
        rows.append(row | {"rate": max(found["runs"]), "note": note})
    return rows


def main(folder, scratch, scale):
    scratch = os.path.abspath(scratch)
    load = os.getloadavg()[0]
    path = os.path.join(folder, "walks.gl")
    if not os.path.exists(path):
        edges = rmat_without_sinks(scale, 16, weighted=True)
        gz.convert_edges(edges, path, num_nodes=1 << scale, index="out", edge_ids=False)
    graph = gz.Graph(path)
    graph.preload()
    index = graph.index()
    starts = np.random.default_rng(0).choice(np.flatnonzero(np.diff(index.indptr)), WALKS)
    for name, array in {"indptr": index.indptr, "indices": index.indices, "starts": starts}.items():
        np.save(os.path.join(scratch, f"{name}.npy"), array.astype(np.int64))
    np.save(os.path.join(scratch, "weights.npy"), index.weights)
    if os.environ.get("GRAPHZERO02_PYTHON"):
        with open(os.path.join(scratch, "weighted02.gl"), "wb") as file:
            file.write(graphzero02_gl(index.indptr, index.indices, index.weights))

    # What a uniform walk reads: the offsets and the neighbours, not the weights.
    limits = read_limits(index.indptr.nbytes + index.indices.nbytes)
    rows = []
    for law in LAWS:
        rows += our_rows(graph, law, starts)
    for name in RIVALS:
        rows += rival_rows(graph, name, starts, scratch)
    conditions = {
        "graph": f"R-MAT scale {scale}, {graph.num_edges:,} edges",
        "steps": LENGTH,
        "node2vec": f"p={P} q={Q}",
        "cache": "warm, by preload()",
        "load before": f"{load:.1f}",
        **limit_conditions(limits),
    }
    report("random walks", conditions, with_ratios(rows, limits, "steps"))


if __name__ == "__main__":
    run_on_rmat(main, __doc__)
