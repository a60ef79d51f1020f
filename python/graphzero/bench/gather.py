"""Random rows of the features, from the page cache and from the device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import graphzero as gz
from graphzero.bench.contest import Contest
from graphzero.bench.contestants import Cap
from graphzero.bench.figures import OURS, Arrays, Figure, thread_counts

TITLE = "Gathering rows"
QUESTION = "How many random rows of features a second reach memory?"
NEEDS = ("features",)
_COLD_SHARE = 20  # of the rows are asked for cold, at most: one in this number
_AT_ONCE = {OURS: 10_000, "np.memmap": 500}


def prepare(contest: Contest) -> None:
    """Write the ids, and rows as rivals read them."""
    data, plan = contest.data, contest.plan
    data.write_raw_features()
    rng = np.random.default_rng(plan.seed)
    data.once("ids.npy", lambda path: np.save(path, rng.integers(0, data.num_nodes, plan.gathered_rows)))
    cold = rng.permutation(data.num_nodes)[: max(1, data.num_nodes // _COLD_SHARE)]
    data.once("cold_ids.npy", lambda path: np.save(path, cold))


def figures(contest: Contest) -> list[Figure]:
    """List who is asked what."""
    whats = (OURS, "np.memmap", "torch, all in RAM")
    found = [_gather(contest, what, "from memory") for what in whats]
    for threads in thread_counts(contest.threads)[:-1]:
        name = f"from memory, {threads} thread{'s' * (threads > 1)}"
        found.append(replace(found[0], task=name, threads=threads, scale=[("threads", threads)], in_table=False))
    found[0] = replace(found[0], scale=[("threads", contest.threads)])
    found += [_gather(contest, what, "from the device") for what in whats[:2]]
    for percent, size in contest.caps()[:1]:
        task = f"from the device, {percent} % fits in memory"
        found += [_gather(contest, what, task, Cap(size)) for what in whats[:2]]
    return found


def _gather(contest: Contest, what: str, task: str, cap: Cap | None = None) -> Figure:
    data = contest.data
    cold = task != "from memory"
    assert data.features is not None
    features = data.features

    def check(answer: Arrays) -> str | None:
        return wrong_rows(features, answer["ids"], answer["rows"])

    path = features if what == OURS else data.scratch_file("features.raw")
    given = contest.given(
        name=what, features=path, columns=data.num_features, cold=cold, rows_at_once=_AT_ONCE.get(what, 0),
        ids=data.scratch_file("cold_ids.npy" if cold else "ids.npy"),
    )  # fmt: skip
    cache = "cold" if cold else "warm"
    return Figure(
        task, what, "gathers", given, check, "rows are those of their ids", "rows/s", contest.threads, cache,
        cold=[path] if cold else [], cap=cap,
    )  # fmt: skip


def wrong_rows(features: str, ids: Any, rows: Any) -> str | None:
    """Return what is wrong with gathered rows, or nothing: each has to be its id's, from end to end."""
    with gz.FeatureStore(features) as store:
        expected = store.gather(ids, reader="mmap", dtype="float32" if store.dtype != str(rows.dtype) else None)
    if expected.shape != rows.shape:
        return f"rows of {rows.shape}, expected {expected.shape}"
    return None if np.array_equal(rows, expected) else "rows of other nodes"


def conditions(contest: Contest) -> dict[str, str]:
    """Tell what was held fixed."""
    data = contest.data
    return {
        "row": f"{data.feature_bytes // max(1, data.num_nodes)} bytes",
        "from memory": f"{contest.plan.gathered_rows:,} rows at once, in the page cache or loaded",
        "from the device": (
            f"different rows, at most one in {_COLD_SHARE}; file dropped from the page cache, then read once past it; "
            "graphzero reads past the page cache, np.memmap fills it, unless a control group keeps it from that"
        ),
    }
