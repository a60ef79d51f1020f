"""Negative sampling: pairs of nodes that stand for "no edge"."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphzero import _core
from graphzero._base.arrays import float64_vector, int64_vector, plain
from graphzero._base.integers import as_seed, integer
from graphzero.graph import Graph

Law: TypeAlias = Literal["uniform", "degree"] | ArrayLike | None
PairLaw: TypeAlias = Law | tuple[Law, Law]

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
    its in-degree to the ``power``. An array draws in proportion to its weights, one for each destination;
    those of weight 0 are never drawn. Each call adds them up and keeps 9 bytes a node for that; a
    ``graphzero.Pipeline`` does so once.

    ``exclude_edges=True`` never returns a destination that the source has an edge to, and raises
    ``ValueError`` for a source where none is left. A source itself is a destination like any other, unless
    it has an edge to itself.

    ``shared=True`` draws one set for all sources, an array ``(amount,)``; excluding edges then means that
    no source has an edge to any of them.

    The same ``seed`` gives the same result for any number of threads; without one every call differs.

    Examples:
        >>> sample_negatives(Graph(tiny_gl), [0, 3], 4, exclude_edges=True, seed=1)    # 0→1  0→2  1→2  3→0
        array([[0, 3, 3, 3],
               [2, 2, 1, 3]])
        >>> sample_negatives(Graph(tiny_gl), [0, 3], 4, by=[0, 0, 0.5, 0], seed=1)
        array([[2, 2, 2, 2],
               [2, 2, 2, 2]])
    """
    nodes = int64_vector(sources, "sources")
    count = _count(amount, "amount")
    options = negative_options(by, power, exclude_edges, seed, sources=False)
    if shared:
        return plain(_core.sample_shared_negatives(graph._core, nodes, count, options))
    return plain(_core.sample_negatives(graph._core, nodes, count, options)).reshape(len(nodes), count)


def sample_negative_pairs(
    graph: Graph,
    count: int,
    *,
    by: PairLaw = "uniform",
    power: float = 0.75,
    exclude_edges: bool = False,
    seed: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw ``count`` pairs of a source and a destination, with replacement.

    ``by="degree"`` draws sources in proportion to their out-degree to the ``power``, and destinations to
    their in-degree. An array has the weights of destinations, as in ``sample_negatives()``, and leaves
    sources uniform; a tuple ``(by of sources, by of destinations)`` says it for each end, where ``None`` is
    uniform. With ``exclude_edges=True`` pairs that are edges are left out and the others keep their
    proportions: ``by="uniform"`` then draws uniformly from all pairs without an edge. Pairs of a node with
    itself are pairs like any other.

    Examples:
        >>> src, dst = sample_negative_pairs(Graph(tiny_gl), 5, exclude_edges=True, seed=1)
        >>> Graph(tiny_gl).has_edges(src, dst).any()
        np.False_
    """
    options = negative_options(by, power, exclude_edges, seed, sources=True)
    src, dst = _core.sample_negative_pairs(graph._core, _count(count, "count"), options)
    return plain(src), plain(dst)


def negative_options(
    by: PairLaw, power: float, exclude_edges: bool, seed: int | None, *, sources: bool, name: str = "by"
) -> _core.NegativeOptions:
    """Read the options of negative sampling. ``sources`` are drawn or given; ``name`` is what messages call ``by``."""
    options = _core.NegativeOptions()
    if isinstance(by, tuple) and len(by) == 2:
        if not sources and by[0] is not None:
            raise ValueError(
                f"{name}[0]: expected None, because sources are given and only destinations drawn, found {_kind(by[0])}"
            )
        options.src = _end_law(by[0], f"{name}[0]")
        options.dst = _end_law(by[1], f"{name}[1]")
    else:
        options.dst = _end_law(by, name)
        if isinstance(by, str):  # weights are those of destinations
            options.src = options.dst
    try:
        options.power = float(power)
    except (TypeError, ValueError):
        raise TypeError(f"power: expected a number, found {power!r}") from None
    options.exclude_edges = bool(exclude_edges)
    options.seed = as_seed(seed)
    return options


def _end_law(by: Any, name: str) -> _core.EndLaw:
    if by is None:
        by = "uniform"
    if not isinstance(by, str):
        return _core.EndLaw(float64_vector(by, name), name)
    if by not in _LAWS:
        raise ValueError(f"{name}: expected 'uniform', 'degree' or an array of weights, found {by!r}")
    return _core.EndLaw(_LAWS[by])


def _kind(by: Any) -> str:
    return repr(by) if isinstance(by, str) else type(by).__name__


def _count(value: Any, name: str) -> int:
    count = integer(value, name)
    if not 0 <= count < 2**63:
        raise ValueError(f"{name}: expected 0 to 2^63 - 1, found {count}")
    return count
