"""Negative sampling: pairs of nodes that stand for "no edge"."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphzero import _core
from graphzero.arrays import int64_vector, integer, plain
from graphzero.graph import Graph
from graphzero.seeds import as_seed

Law = Literal["uniform", "degree"]

_LAWS = {"uniform": _core.NegativeLaw.UNIFORM, "degree": _core.NegativeLaw.DEGREE}


def sample_negatives(
    graph: Graph,
    sources: ArrayLike,
    amount: int = 1,
    *,
    by: Law = "uniform",
    power: float = 0.75,
    exclude_edges: bool = False,
    shared: bool = False,
    seed: int | None = None,
) -> NDArray[np.int64]:
    """Draw ``amount`` destinations for each source, with replacement: an array ``(len(sources), amount)``.

    ``by="uniform"`` draws every destination with the same probability, ``by="degree"`` in proportion to
    its in-degree to the ``power``. ``exclude_edges=True`` never returns a destination that the source has
    an edge to, and raises ``ValueError`` for a source where none is left. A source itself is a
    destination like any other, unless it has an edge to itself.

    ``shared=True`` draws one set for all sources, an array ``(amount,)``; excluding edges then means that
    no source has an edge to any of them.

    The same ``seed`` gives the same result for any number of threads; without one every call differs.

    >>> sample_negatives(Graph(tiny_gl), [0, 3], 4, exclude_edges=True, seed=1)    # 0→1  0→2  1→2  3→0
    array([[0, 3, 3, 3],
           [2, 2, 1, 3]])
    """
    nodes = int64_vector(sources, "sources")
    count = _count(amount, "amount")
    options = negative_options(by, power, exclude_edges, seed)
    if shared:
        return plain(_core.sample_shared_negatives(graph._core, nodes, count, options))
    return plain(_core.sample_negatives(graph._core, nodes, count, options)).reshape(len(nodes), count)


def sample_negative_pairs(
    graph: Graph,
    count: int,
    *,
    by: Law = "uniform",
    power: float = 0.75,
    exclude_edges: bool = False,
    seed: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw ``count`` pairs of a source and a destination, with replacement.

    ``by="degree"`` draws sources in proportion to their out-degree to the ``power``, and destinations to
    their in-degree. With ``exclude_edges=True`` pairs that are edges are left out and the others keep their
    proportions: ``by="uniform"`` then draws uniformly from all pairs without an edge. Pairs of a node with
    itself are pairs like any other.

    >>> src, dst = sample_negative_pairs(Graph(tiny_gl), 5, exclude_edges=True, seed=1)
    >>> Graph(tiny_gl).has_edges(src, dst).any()
    np.False_
    """
    options = negative_options(by, power, exclude_edges, seed)
    src, dst = _core.sample_negative_pairs(graph._core, _count(count, "count"), options)
    return plain(src), plain(dst)


def negative_options(by: str, power: float, exclude_edges: bool, seed: int | None) -> _core.NegativeOptions:
    """Read the options of negative sampling."""
    options = _core.NegativeOptions()
    if by not in _LAWS:
        raise ValueError(f"by: expected 'uniform' or 'degree', found {by!r}")
    options.by = _LAWS[by]
    try:
        options.power = float(power)
    except (TypeError, ValueError):
        raise TypeError(f"power: expected a number, found {power!r}") from None
    options.exclude_edges = bool(exclude_edges)
    options.seed = as_seed(seed)
    return options


def _count(value: Any, name: str) -> int:
    count = integer(value, name)
    if not 0 <= count < 2**63:
        raise ValueError(f"{name}: expected 0 to 2^63 - 1, found {count}")
    return count
