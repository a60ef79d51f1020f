"""Whether the steps of walks have the law of node2vec: how often they go back, stay near and go on."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

import graphzero as gz

_STEPS = 20_000  # looked at; drawn uniformly instead of by q = 0.5, as few as 2,000 are refused on a block model
_LONGEST = 1000  # neighbours; a step from a node with more costs too much to look at
# One right answer in a million is refused, over three kinds of step and both sides.
_LOG_TAILS = math.log(2 * 3 / 1e-6)
_KINDS = ("go back", "stay near", "go on")


def wrong_second_steps(
    graph: gz.Graph, walks: NDArray[np.int64], p: float, q: float, *, backwards: bool = False
) -> str | None:
    """Return what is wrong with the law of all steps but the first, or nothing.

    A walk that came from ``t`` to ``v`` goes back to ``t`` with weight ``1/p``, to another ``x`` with 1 if there is an
    edge from ``t`` to ``x`` (from ``x`` to ``t`` if ``backwards``), and with ``1/q`` if there is none. Given ``t`` and
    ``v`` the three chances are known, so counts less their expectations are a martingale, and the bound is that of
    Freedman (On tail probabilities for martingales, 1975): right for any number of steps, independent or not.
    """
    before, here, there = _some_steps(graph, walks)
    lists = _neighbors(graph, here)
    owner = np.repeat(np.arange(len(here)), np.diff(lists[0]))
    kinds = _kinds(graph, before[owner], lists[1], backwards)
    weights = np.array([1 / p, 1.0, 1 / q])[kinds]
    expected = np.stack([np.bincount(owner, weights * (kinds == kind), len(here)) for kind in range(3)])
    expected = expected / expected.sum(axis=0)
    taken = _kinds(graph, before, there, backwards)
    for kind, name in enumerate(_KINDS):
        found, mean = float((taken == kind).sum()), float(expected[kind].sum())
        variance = float((expected[kind] * (1 - expected[kind])).sum())
        bound = _LOG_TAILS / 3 + math.sqrt((_LOG_TAILS / 3) ** 2 + 2 * _LOG_TAILS * variance)
        if abs(found - mean) > bound:
            return (
                f"of {len(here):,} steps {found:,.0f} {name}, expected {mean:,.0f} by p={p:g} q={q:g}, "
                f"give or take {bound:,.0f}"
            )
    return None


def _some_steps(graph: gz.Graph, walks: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return (from, at, to) of steps of walks from all over the table.

    Which ones depends on where the walks were before the step, never on where it led: that would bend the law.
    """
    some = walks[:: max(1, len(walks) * (walks.shape[1] - 2) // _STEPS)]
    before, here, there = (some[:, first : some.shape[1] - 2 + first].ravel() for first in range(3))
    degree = graph.degree(here)
    kept = (degree > 0) & (degree <= _LONGEST)
    return before[kept], here[kept], there[kept]


def _neighbors(graph: gz.Graph, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the lists of ``nodes``, one behind the other, and where each begins."""
    index = graph.index("out")
    begins = index.indptr[nodes]
    counts = index.indptr[nodes + 1] - begins
    offsets = np.concatenate([[0], np.cumsum(counts)])
    places = np.arange(offsets[-1]) + np.repeat(begins - offsets[:-1], counts)
    return offsets, index.indices[places].astype(np.int64)


def _kinds(graph: gz.Graph, before: NDArray[np.int64], there: NDArray[np.int64], backwards: bool) -> NDArray[np.intp]:
    """Return the place in ``_KINDS`` of each step from a node reached from ``before`` to ``there``."""
    ends = (there, before) if backwards else (before, there)
    return np.where(there == before, 0, np.where(graph.has_edges(*ends), 1, 2))
