"""Sampling neighbourhoods: three hops beside the samplers of PyG and DGL, one hop beside GraphZero 0.2."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

import graphzero as gz
from graphzero.bench.contest import Contest
from graphzero.bench.figures import OURS, Arrays, Figure, thread_counts
from graphzero.bench.pythons import GRAPHZERO02
from graphzero.bench.rivals.samplers import FANOUT, FANOUTS
from graphzero.bench.sample_checks import SampleCheck, wrong_fanout, wrong_rival_sample

TITLE = "Sampling neighbourhoods"
QUESTION = "How many edges a second does a three-hop sample give?"
NEEDS = ("in",)
RIVALS = ("torch-sparse", "pyg-lib", "GraphBolt")
_CHECKED = "every edge is an edge of the graph; fanouts hold"
_SIZES = (16, 4)  # what the data is divided by, for the plot over sizes


def prepare(contest: Contest) -> None:
    """Write the seeds, the lists that rivals draw from, and smaller graphs."""
    data, plan = contest.data, contest.plan
    rng = np.random.default_rng(plan.seed)
    _write_seeds(contest, rng, data.nodes_with_edges("in"), "seeds.npy")
    data.write_in_index()
    if "out" in data.indexes:
        data.write_out_index()
        data.once("starts.npy", lambda path: np.save(path, rng.choice(data.nodes_with_edges("out"), plan.starts)))
    for factor in _SIZES if data.kind == "blocks" else ():
        path = data.scratch_file(f"sized{factor}")
        nodes = data.num_nodes // factor
        edges = data.num_edges // factor // 2
        with gz.synthesize(path, nodes, edges, features=0, undirected=True, seed=plan.seed, overwrite=True) as small:
            with_edges = np.flatnonzero(np.diff(small.graph.index("in").indptr))
        _write_seeds(contest, rng, with_edges, f"seeds{factor}.npy")


def _write_seeds(contest: Contest, rng: Any, nodes: Any, name: str) -> None:
    shape = contest.plan.sampled_batches, contest.plan.sampled_seeds
    # A batch has no node twice, as in an epoch; a small graph gives its nodes to several batches.
    per_batch = min(shape[1], len(nodes))
    seeds = np.stack([rng.choice(nodes, per_batch, replace=False) for _ in range(shape[0])])
    contest.data.once(name, lambda path: np.save(path, seeds.astype(np.int64)))


def figures(contest: Contest) -> list[Figure]:
    """List who is asked what."""
    found = []
    for threads in thread_counts(contest.threads):
        places = [("threads", threads)]
        if threads == contest.threads:
            places.append(("size", contest.data.num_edges))
        found.append(_hops(contest, OURS, threads, scale=places, in_table=threads in (1, contest.threads)))
        if threads in (1, contest.threads):
            found += [_hops(contest, rival, threads) for rival in RIVALS]
    if contest.data.kind == "blocks":
        found += [_smaller(contest, factor) for factor in _SIZES]
    if "out" in contest.data.indexes:
        found += [_one_hop(contest, OURS), _one_hop(contest, GRAPHZERO02)]
    return found


def _hops(
    contest: Contest, what: str, threads: int, *, path: str | None = None, seeds: str = "seeds.npy", **more: Any
) -> Figure:
    path = contest.data.graph if path is None else path

    def check(sample: Arrays) -> str | None:
        batch = np.load(contest.data.scratch_file(seeds))[0]
        with gz.Graph(path) as graph:
            if what != OURS:
                return wrong_rival_sample(graph, sample, batch, FANOUTS, redraws=what == "GraphBolt")
            hood, of_ours = SimpleNamespace(**sample), SampleCheck(graph, FANOUTS)
            return of_ours.wrong_edges(hood.node, hood.row, hood.col, hood.edge, batch) or of_ours.wrong_counts(hood)

    given = contest.given(name=what, graph=path, seeds=seeds, one_hop=False)
    task = f"three hops, {threads} thread{'s' * (threads > 1)}"
    return Figure(task, what, "samplers", given, check, _CHECKED, "edges/s", threads, "warm", **more)


def _smaller(contest: Contest, factor: int) -> Figure:
    with gz.open(contest.data.scratch_file(f"sized{factor}")) as dataset:
        path, num_edges = dataset.graph.path, dataset.num_edges
    figure = _hops(contest, OURS, contest.threads, path=path, seeds=f"seeds{factor}.npy", in_table=False)
    return replace(figure, task=f"three hops, {num_edges:,} edges", scale=[("size", num_edges)])


def _one_hop(contest: Contest, what: str) -> Figure:
    data = contest.data
    starts = np.load(data.scratch_file("starts.npy"))
    with gz.Graph(data.graph) as graph:
        counts = np.minimum(graph.degree(starts), FANOUT)

    def check(sample: Arrays) -> str | None:
        with gz.Graph(data.graph) as graph:
            return wrong_fanout(graph, starts, sample["drawn"], counts, FANOUT)

    given = contest.given(name=what, graph=data.graph, one_hop=True, edges=int(counts.sum()))
    task = f"one hop, {FANOUT} neighbours"
    checked = "neighbours are neighbours, as many as there are"
    return Figure(task, what, "samplers", given, check, checked, "edges/s", contest.threads, "warm")


def conditions(contest: Contest) -> dict[str, str]:
    """Tell what was held fixed."""
    plan = contest.plan
    return {
        "fanouts": str(FANOUTS),
        "seeds": f"{plan.sampled_seeds:,} in each of {plan.sampled_batches} batches",
        "file": contest.data.layout,
        "cache": "warm",
        "threads": "across batches, for all",
        "edge ids": "returned by all",
    }
