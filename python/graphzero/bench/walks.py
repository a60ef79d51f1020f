"""Random walks, uniform and node2vec, beside torch-cluster, DGL, PecanPy and GraphZero 0.2."""

from __future__ import annotations

from typing import Any

import numpy as np

import graphzero as gz
from graphzero.bench.contest import Contest
from graphzero.bench.figures import OURS, Arrays, Figure, thread_counts
from graphzero.bench.pythons import GRAPHZERO02
from graphzero.bench.rivals.walkers import LENGTH, P, Q
from graphzero.bench.walk_laws import wrong_second_steps

TITLE = "Random walks"
QUESTION = "How many steps a second do walks take?"
NEEDS = ("out",)
DGL = "DGL"
_SLOW = 2000  # walks of those who take node2vec's second order from the whole list
_COMPILED = "left out of a quick run: it is compiled first, which takes longer than the rest"


def prepare(contest: Contest) -> None:
    """Write the starts, and the lists that rivals walk on."""
    data, plan = contest.data, contest.plan
    data.write_out_index()
    rng = np.random.default_rng(plan.seed)
    data.once("starts.npy", lambda path: np.save(path, rng.choice(data.nodes_with_edges("out"), plan.starts)))


def figures(contest: Contest) -> list[Figure]:
    """List who is asked what."""
    found = []
    found += [
        _walks(contest, OURS, "uniform", threads, scale=[("threads", threads)], in_table=False)
        for threads in thread_counts(contest.threads)[1:-1]
    ]
    for law in ("uniform", "node2vec"):
        for threads in sorted({1, contest.threads}):
            places = [("threads", threads)] if law == "uniform" else []
            found.append(_walks(contest, OURS, law, threads, scale=places))
            found.append(_walks(contest, "torch-cluster", law, threads))
            if law == "node2vec":
                found.append(_walks(contest, DGL, law, threads))
        for rival in ("PecanPy", GRAPHZERO02):
            found.append(_walks(contest, rival, law, contest.threads))
    return found


def _walks(contest: Contest, what: str, law: str, threads: int, **more: Any) -> Figure:
    data = contest.data
    is_slow = law == "node2vec" and what in ("PecanPy", GRAPHZERO02)
    walks = min(_SLOW, contest.plan.starts) if is_slow else contest.plan.starts

    def check(answer: Arrays) -> str | None:
        starts = np.load(data.scratch_file("starts.npy"))[:walks]
        with gz.Graph(data.graph) as graph:
            return wrong_walks(graph, starts, answer["walks"], LENGTH) or wrong_second_steps(
                graph, answer["walks"], P, Q if law == "node2vec" else 1.0, backwards=what == DGL
            )

    given = contest.given(name=what, law=law, walks=walks, graph=data.graph)
    task = f"{law}, {threads} thread{'s' * (threads > 1)}"
    left_out = None
    if what == "PecanPy" and not contest.plan.compiles and contest.pythons.of(what) is not None:
        left_out = _COMPILED
    return Figure(
        task, what, "walkers", given, check, "every step is an edge; steps have their law", "steps/s", threads, "warm",
        left_out=left_out, **more,
    )  # fmt: skip


def wrong_walks(graph: gz.Graph, starts: Any, walks: Any, length: int) -> str | None:
    """Return what is wrong with the walks, or nothing: a step is an edge, or stands still at a dead end."""
    if walks.shape != (len(starts), length + 1) or not np.array_equal(walks[:, 0], starts):
        return "walks do not begin at their starts, or end too soon"
    here, there = walks[:, :-1].ravel(), walks[:, 1:].ravel()
    stands = (here == there) & (graph.degree(here) == 0)
    if not (graph.has_edges(here, there) | stands).all():
        return "a step that is no edge"
    return None


def conditions(contest: Contest) -> dict[str, str]:
    """Tell what was held fixed."""
    slow = f"{min(_SLOW, contest.plan.starts):,} for PecanPy and GraphZero 0.2 in node2vec"
    return {
        "walks": f"{contest.plan.starts:,}; {slow}",
        "steps": str(LENGTH),
        "node2vec": f"p={P} q={Q}; DGL asks for the edge back to the node before, others for the one from it",
        "cache": "warm",
    }
