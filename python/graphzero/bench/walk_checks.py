"""Whether walks are walks."""

from __future__ import annotations

from typing import Any

import numpy as np

import graphzero as gz


def wrong_walks(graph: gz.Graph, starts: Any, walks: Any, length: int) -> str | None:
    """Return what is wrong with the walks, or nothing: a step is an edge, or stands still at a dead end."""
    if walks.shape != (len(starts), length + 1) or not np.array_equal(walks[:, 0], starts):
        return "walks do not begin at their starts, or end too soon"
    here, there = walks[:, :-1].ravel(), walks[:, 1:].ravel()
    stands = (here == there) & (graph.degree(here) == 0)
    if not (graph.has_edges(here, there) | stands).all():
        return "a step that is no edge"
    return None


def wrong_weights(index: gz.Index, walks: Any, law: str) -> str | None:
    """Return what is wrong with the first weights taken, or nothing: by weight they are larger than without.

    The mean weight of the first step is, list by list, the sum of squares over the sum by weight, else the plain
    mean. Parallel edges share an end, so starts whose step has several are left out.
    """
    assert index.weights is not None
    found, expected = [], []
    for start, end in walks[:2000, :2]:
        edges = slice(index.indptr[start], index.indptr[start + 1])
        weights = index.weights[edges].astype(np.float64)
        same = np.flatnonzero(index.indices[edges] == end)
        if len(weights) >= 16 and len(same) == 1:
            found.append(weights[same[0]])
            expected.append(weights @ weights / weights.sum() if law == "weighted" else weights.mean())
    ratio = np.mean(found) / np.mean(expected)
    return None if abs(ratio - 1) < 0.1 else f"first steps have {ratio:.2f} of the weight expected"
