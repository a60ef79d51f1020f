"""graphzero as a contestant: for each program of ``rivals/`` the same by us, asked, timed and answered for alike.

``python -m graphzero.bench.ours JSON``, where ``program`` names it. It is given what the rivals are, and our files:
``graph``, or ``data``, a data set folder.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

import graphzero as gz
from graphzero.bench.rivals.clock import batch_rates, rates_of
from graphzero.bench.rivals.gathers import measure_cold, measure_warm
from graphzero.bench.rivals.protocol import answer, wait_for_limit
from graphzero.bench.rivals.sage import make_model, train
from graphzero.bench.rivals.samplers import FANOUT, FANOUTS
from graphzero.bench.rivals.walkers import LENGTH, P, Q

Given = dict[str, Any]
# The names of stages, and of the seconds in the stats of a pipeline.
_STAGES = {"sampling": "sampling", "reading": "reading", "assembling": "assembling", "waiting": "waited"}


def _graph(given: Given) -> gz.Graph:
    graph = gz.Graph(given["graph"])
    graph.preload()
    return graph


def _array(given: Given, name: str) -> Any:
    return np.load(os.path.join(given["folder"], name))


def sample(given: Given) -> Given:
    """Sample three hops, threads across batches; or one hop as GraphZero 0.2 does."""
    graph = _graph(given)
    if given["one_hop"]:
        starts = _array(given, "starts.npy")
        np.savez(given["result"], drawn=graph.batch_random_fanout(starts, FANOUT, seed=1))
        return {"runs": rates_of(lambda: graph.batch_random_fanout(starts, FANOUT), given["edges"], given["seconds"])}
    batches = _array(given, given["seeds"])
    hood = gz.sample_neighbors(graph, batches[0], FANOUTS, seed=1)
    np.savez(
        given["result"], node=hood.node, row=hood.row, col=hood.col, edge=hood.edge,
        num_sampled_nodes=hood.num_sampled_nodes, num_sampled_edges=hood.num_sampled_edges or [],
    )  # fmt: skip
    gz.set_num_threads(1)

    def count_edges(batch: tuple[int, Any]) -> int:
        hood = gz.sample_neighbors(graph, batch[1], FANOUTS, seed=2, batch=batch[0])
        return len(hood.row) if len(hood.edge) == len(hood.row) else 0  # edge ids are asked for, as of the rivals

    return {"runs": batch_rates(count_edges, list(enumerate(batches)), given["threads"], given["seconds"])}


def walk(given: Given) -> Given:
    """Walk once to be checked, then for the clock."""
    graph, starts = _graph(given), _array(given, "starts.npy")[: given["walks"]]
    q = Q if given["law"] == "node2vec" else 1.0
    np.savez(given["result"], walks=gz.random_walk(graph, starts, LENGTH, p=P, q=q, seed=1))
    runs = rates_of(lambda: gz.random_walk(graph, starts, LENGTH, p=P, q=q), len(starts) * LENGTH, given["seconds"])
    return {"runs": runs}


def gather(given: Given) -> Given:
    """Gather rows of a .gd file from the page cache, or from the device past it."""
    store = gz.FeatureStore(given["features"])
    if not given["cold"]:
        store.get_tensor(access="sequential", order="stored").sum()  # now it is in the page cache
        return measure_warm(lambda ids: store.gather(ids, reader="mmap"), given)
    found = measure_cold(lambda ids: store.gather(ids, reader="direct"), given)
    stats = store.gather_stats()
    return found | {name: stats[name] for name in ("device_reads", "device_bytes", "reader")}


def convert(given: Given) -> Given:
    """Convert a number of times."""
    runs = []
    for _ in range(given["repeat"]):
        begin = time.perf_counter()
        gz.convert_edges(given["source"], given["target"], threads=given["threads"], **given["options"])
        runs.append(given["edges"] / (time.perf_counter() - begin))
    return {"runs": runs}


def load(given: Given) -> Given:
    """Take batches of two epochs, each for a number of seconds at most, and one more to be checked."""
    dataset = gz.open(given["data"])
    dataset.graph.preload()
    seeds = _array(given, "input_nodes.npy")
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
    found = {"runs": runs, "seconds": spent} | _since(pipeline.stats(), before)
    batch = next(iter(pipeline))
    node, row, col = batch.sample.node, batch.sample.row, batch.sample.col
    np.savez(given["result"], node=node, row=row, col=col, x=batch.node_features["x"], seeds=len(batch.input_id))
    return found


def measure_training(given: Given) -> Given:
    """Train through our NeighborLoader, and return how fast."""
    import torch

    from graphzero.loaders import NeighborLoader

    torch.set_num_threads(given["threads"])
    dataset = gz.open(given["data"])
    dataset.graph.preload()
    model = make_model(given["columns"], given["classes"], len(FANOUTS))
    wait_for_limit(given)
    loader = NeighborLoader(
        dataset, FANOUTS, _array(given, "input_nodes.npy"), batch_size=given["batch_size"], shuffle=True, seed=1,
        memory=given["memory"], reader=given["reader"], threads=given["threads"], form="pyg",
    )  # fmt: skip
    before = loader.stats()
    found = train(model, loader, given)
    return found | _since(loader.stats(), before)


def _since(after: Mapping[str, Any], before: Mapping[str, Any]) -> Given:
    """Return what the stats of a pipeline say about the time between two measurements, as an answer."""
    return {
        "stages": {stage: after[f"seconds_{name}"] - before[f"seconds_{name}"] for stage, name in _STAGES.items()},
        **{name: after[name] - (before[name] or 0) for name in ("device_reads", "device_bytes")},
        "hit_rate": after["hit_rate"],
        "reader": after["sources"]["x"]["reader"],
    }


PROGRAMS = {
    "samplers": sample, "walkers": walk, "gathers": gather, "converters": convert, "loaders": load,
    "trainers": measure_training,
}  # fmt: skip


def measure(given: Given) -> Given:
    """Do what is asked."""
    return PROGRAMS[given["program"]](given)


if __name__ == "__main__":
    answer(measure)
