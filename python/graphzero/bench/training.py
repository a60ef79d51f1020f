"""Training GraphSAGE: in RAM, under caps, and through PyG's own loader."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from graphzero._base.memory_sizes import byte_text
from graphzero.bench.batches import check_of, our_options, task_of, under
from graphzero.bench.batches import prepare as prepare  # both read the same files
from graphzero.bench.contest import Contest
from graphzero.bench.figures import OURS, Arrays, Figure
from graphzero.bench.rivals.sage import HIDDEN, LEARNING_RATE, WARM_UP
from graphzero.bench.rivals.samplers import FANOUTS

TITLE = "Training GraphSAGE"
QUESTION = "How many batches a second does a model learn from?"
NEEDS = ("in", "features", "labels")
_CHECKED = "the loss goes down; the last batch has its seeds, edges and rows"
# Activations and gradients of a batch, for each byte of its features; three layers of 64, with messages. 24 were seen,
# and with less than that the graph has to leave the page cache.
_MODEL_BYTES = 28
_NODES_OF_SEED = 400
_LEAST_BATCHES = 24


def figures(contest: Contest) -> list[Figure]:
    """List who is asked what."""
    return [_ours(contest, None), _rival(contest), *(_ours(contest, cap) for cap in contest.caps())]


def _check(contest: Contest) -> Callable[[Arrays], str | None]:
    of_batch = check_of(contest)

    def check(batch: Arrays) -> str | None:
        return wrong_losses(np.load(contest.data.scratch_file("losses.npy"))) or of_batch(batch)

    return check


def wrong_losses(losses: Any) -> str | None:
    """Return what is wrong with the losses of a training, or nothing: the last are to be smaller than the first."""
    if not np.isfinite(losses).all():
        return "the loss is not a number"
    half = max(1, len(losses) // 2)
    first, last = float(np.mean(losses[:half])), float(np.mean(losses[-half:]))
    return None if last < first else f"the loss does not go down: {first:.3f} at first, {last:.3f} at last"


def _given(contest: Contest, **more: Any) -> dict[str, Any]:
    return contest.given(
        columns=contest.data.num_features, classes=contest.data.num_classes, batch_size=contest.plan.batch_size,
        batches=_LEAST_BATCHES, losses=contest.data.scratch_file("losses.npy"), **more,
    )  # fmt: skip


def _model_bytes(contest: Contest) -> int:
    """Return what the model of a batch takes."""
    return contest.plan.batch_size * _NODES_OF_SEED * contest.data.num_features * 4 * _MODEL_BYTES


def _ours(contest: Contest, cap: tuple[int, int] | None) -> Figure:
    missing = [name for name in ("torch", "torch_geometric") if importlib.util.find_spec(name) is None]
    given = _given(contest, **our_options(contest, cap))
    return Figure(
        task_of(cap), OURS, "trainers", given, _check(contest), _CHECKED, "batches/s", contest.threads,
        **under(cap, contest.data.files, contest.data.graph_bytes + _model_bytes(contest)),
        left_out=f"not installed: {', '.join(missing)}" if missing else None,
    )  # fmt: skip


def _rival(contest: Contest) -> Figure:
    given = _given(contest, features="RAM", workers=0)
    return Figure(
        task_of(None), "PyG NeighborLoader, all in RAM", "trainers", given, _check(contest), _CHECKED, "batches/s",
        contest.threads, "warm",
    )  # fmt: skip


def conditions(contest: Contest) -> dict[str, str]:
    """Tell what was held fixed."""
    return {
        "model": f"GraphSAGE, {len(FANOUTS)} layers of {HIDDEN}, Adam {LEARNING_RATE}, on the CPU",
        "fanouts": str(FANOUTS),
        "batch": f"{contest.plan.batch_size} seeds",
        "warm-up": f"{WARM_UP} batches, not counted",
        "cap": f"as for batches; the control group has {byte_text(_model_bytes(contest))} more, for the model",
    }
