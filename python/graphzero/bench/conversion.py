"""A text edge list into a graph file."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphzero as gz
from graphzero.bench.contest import Contest
from graphzero.bench.figures import OURS, Arrays, Figure
from graphzero.bench.pythons import GRAPHZERO02

TITLE = "Converting an edge list"
QUESTION = "How many lines of text a second become a graph?"
NEEDS = ("out",)
_ONE_INDEX = f"{OURS}, one index, no edge ids"  # what rivals make; its file is smaller than the one made by default
_GIVES = {
    OURS: "both indexes and edge ids, on disk",
    _ONE_INDEX: "one index, on disk",
    GRAPHZERO02: "one index, on disk",
}
_LINES_AT_ONCE = 1 << 18


def prepare(contest: Contest) -> None:
    """Write some of the edges as text, each once and in no order."""
    contest.data.once("edges.csv", lambda path: _write_text(contest, path))


def _write_text(contest: Contest, path: str) -> None:
    data, plan = contest.data, contest.plan
    rng = np.random.default_rng(plan.seed)
    with gz.Graph(data.graph) as graph:
        index = graph.index("out")
        places = np.sort(rng.integers(0, graph.num_edges, plan.converted_edges))
        src = np.searchsorted(index.indptr, places, "right") - 1
        pairs = np.unique(src * data.num_nodes + index.indices[places])
    rng.shuffle(pairs)
    np.save(data.scratch_file("edges.npy"), pairs)
    with open(path, "w") as file:
        file.write("src,dst\n")
        for first in range(0, len(pairs), _LINES_AT_ONCE):
            ends = np.divmod(pairs[first : first + _LINES_AT_ONCE], data.num_nodes)
            lines = zip(ends[0].tolist(), ends[1].tolist(), strict=True)
            file.write("".join(f"{a},{b}\n" for a, b in lines))


def figures(contest: Contest) -> list[Figure]:
    """List who is asked what."""
    return [_conversion(contest, what) for what in (OURS, _ONE_INDEX, "polars + scipy", "NumPy", GRAPHZERO02)]


def _conversion(contest: Contest, what: str) -> Figure:
    data = contest.data
    pairs = data.scratch_file("edges.npy")
    target = data.scratch_file("converted.gl")

    def check(lists: Arrays) -> str | None:
        expected = np.load(pairs)
        if what not in _GIVES:
            return wrong_lists(expected, data.num_nodes, lists["indptr"], lists["indices"])
        with gz.Graph(target) as graph:
            index = graph.index("out")
            wrong = wrong_lists(expected, data.num_nodes, index.indptr, index.indices)
        os.remove(target)
        return wrong

    given = contest.given(
        name=what, source=data.scratch_file("edges.csv"), target=target, nodes=data.num_nodes,
        edges=len(np.load(pairs, mmap_mode="r")), repeat=1 if contest.plan.quick and what != OURS else 2,
        options={"index": "out", "edge_ids": False} if what == _ONE_INDEX else {},
    )  # fmt: skip
    task = "text to graph"
    checked = f"the graph has exactly the edges of the text ({_GIVES.get(what, 'one index, in RAM')})"
    return Figure(task, what, "converters", given, check, checked, "edges/s", contest.threads, "warm")


def wrong_lists(expected: NDArray[np.int64], num_nodes: int, indptr: Any, indices: Any) -> str | None:
    """Return what is wrong with lists of neighbours, or nothing. An edge is expected as ``src * num_nodes + dst``."""
    if len(indices) != len(expected):
        return f"{len(indices):,} edges, expected {len(expected):,}"
    src = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    if not np.array_equal(np.sort(src * num_nodes + indices), np.sort(expected)):
        return "other edges than the text has"
    return None


def conditions(contest: Contest) -> dict[str, str]:
    """Tell what was held fixed."""
    path = contest.data.scratch_file("edges.csv")
    size = f", {os.path.getsize(path) / 1e6:.0f} MB" if os.path.exists(path) else ""
    return {
        "text": f"comma-separated, in no order{size}",
        "cache": "warm",
        "graphzero": "makes both indexes and edge ids, on disk, unless a row says one index",
        "others": "make one index, polars and NumPy in RAM",
        "polars": "is told the types of the columns; scipy sorts by counting and adds up nothing",
    }
