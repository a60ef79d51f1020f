"""Batches from end to end, without a model: sampled, gathered, in order; in RAM and under caps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import graphzero as gz
from graphzero._base.memory_sizes import byte_text
from graphzero.bench.contest import Contest
from graphzero.bench.contestants import SLACK, Cap
from graphzero.bench.figures import OURS, Arrays, Figure
from graphzero.bench.gather import wrong_rows
from graphzero.bench.rivals.samplers import FANOUTS

TITLE = "Batches without a model"
QUESTION = "How many batches a second are ready for a model, and what if the features do not fit in memory?"
NEEDS = ("in", "features")
_RIVAL = "PyG NeighborLoader"
_CHECKED = "a batch has its seeds, edges of the graph, and the rows of its nodes"


def prepare(contest: Contest) -> None:
    """Write what PyG loads."""
    contest.data.write_in_index()
    contest.data.write_raw_features()
    contest.data.write_input_nodes()


def figures(contest: Contest) -> list[Figure]:
    """List who is asked what."""
    workers = (0,) if contest.plan.quick else (0, contest.threads)
    found = [_ours(contest, None), *(_rival(contest, count, None) for count in workers)]
    for cap in contest.caps():
        found += [_ours(contest, cap), _rival(contest, 0, cap)]
    return found


def task_of(cap: tuple[int, int] | None) -> str:
    """Name the task of a cap."""
    return "in RAM" if cap is None else f"{cap[0]} % of the features' size"


def check_of(contest: Contest) -> Any:
    """Return the check of a batch."""
    data = contest.data

    def check(batch: Arrays) -> str | None:
        assert data.features is not None
        inputs = np.load(data.scratch_file("input_nodes.npy"))
        return wrong_batch(data.graph, data.features, batch, inputs)

    return check


def under(cap: tuple[int, int] | None, files: Sequence[str], mapped: int = 0) -> dict[str, Any]:
    """Return what a cap makes of a figure: its ``files`` are cold, and ``mapped`` bytes of others are there."""
    return {"cache": "warm"} if cap is None else {"cache": "cold", "cold": files, "cap": Cap(cap[1], mapped)}


def our_options(contest: Contest, cap: tuple[int, int] | None) -> dict[str, Any]:
    """Return the options of our loaders under a cap."""
    reading = {"memory": None, "reader": "mmap"} if cap is None else {"memory": cap[1], "reader": "direct"}
    return {"data": contest.data.folder, **reading}


def _ours(contest: Contest, cap: tuple[int, int] | None) -> Figure:
    given = contest.given(batch_size=contest.plan.batch_size, epochs=2, **our_options(contest, cap))
    return Figure(
        task_of(cap), OURS, "loaders", given, check_of(contest), _CHECKED, "batches/s", contest.threads,
        **under(cap, contest.data.files, contest.data.graph_bytes),
    )  # fmt: skip


def _rival(contest: Contest, workers: int, cap: tuple[int, int] | None) -> Figure:
    features = "RAM" if cap is None else "memmap"
    given = contest.given(
        features=features, workers=workers, batch_size=contest.plan.batch_size, columns=contest.data.num_features,
        epochs=2,
    )  # fmt: skip
    words = [_RIVAL, "all in RAM" if cap is None else "np.memmap", *([f"{workers} workers"] if workers else [])]
    return Figure(
        task_of(cap), ", ".join(words), "loaders", given, check_of(contest), _CHECKED, "batches/s", contest.threads,
        **under(cap, [contest.data.scratch_file("features.raw")]),
    )  # fmt: skip


def wrong_batch(graph: str, features: str, batch: dict[str, Any], inputs: Any) -> str | None:
    """Return what is wrong with a batch, or nothing: its seeds, its edges, its rows."""
    node, row, col = (batch[name] for name in ("node", "row", "col"))
    seeds = node[: int(batch["seeds"])]
    if len(seeds) == 0 or not np.isin(seeds, inputs).all() or len(np.unique(node)) != len(node):
        return "nodes are not the seeds and then others, each once"
    with gz.Graph(graph) as opened:
        if len(row) == 0 or not opened.has_edges(node[row], node[col]).all():
            return "an edge that is none"
    return wrong_rows(features, node, batch["x"])


def conditions(contest: Contest) -> dict[str, str]:
    """Tell what was held fixed."""
    return {
        "fanouts": str(FANOUTS),
        "batch": f"{contest.plan.batch_size} seeds",
        "features": byte_text(contest.data.feature_bytes),
        "in RAM": "files in the page cache for graphzero, arrays loaded for PyG",
        "cap": (
            "graphzero may hold so much in all; its process, or PyG's with np.memmap, runs in a control group that "
            "allows so much, page cache included, on top of what it held before its first batch (interpreter, "
            f"libraries, graph) and {byte_text(SLACK)}"
        ),
        "files under a cap": "dropped from the page cache, then read once past it",
        "value": "the better of two epochs, each cut off after its time; the first has the preparation in it",
    }
