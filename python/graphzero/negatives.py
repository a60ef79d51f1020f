"""Negative sampling: pairs of nodes that stand for "no edge"."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphzero import _core
from graphzero._base.argument_errors import type_error, value_error
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
    """Draw destinations for each source, with replacement.

    A source itself can be drawn like any other destination.

    Args:
        graph: The graph whose destinations are drawn.
        sources: Node ids.
        amount: The number of destinations per source.
        by: ``"uniform"``, ``"degree"`` for probabilities in proportion to in-degree to the ``power``, or an array with
            a weight per destination. Each call sums up weights and takes 9 bytes per node for that; a
            [`Pipeline`][graphzero.Pipeline] does so once.
        power: The exponent of ``"degree"``, above 0 and at most 1.
        exclude_edges: Never return a destination that the source has an edge to.
        shared: Draw one set for all sources. Excluding edges then means that no source has an edge to any of the set.
        seed: The same seed gives the same result for any number of threads. Without one every call differs.

    Returns:
        An array ``(len(sources), amount)``, or ``(amount,)`` if shared.

    Raises:
        IndexError: A source is not a node of the graph.
        ValueError: Excluding edges leaves a source no destination.

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
    """Draw pairs of a source and a destination, with replacement.

    A node may be paired with itself.

    Args:
        graph: The graph whose nodes are drawn.
        count: The number of pairs.
        by: As in [`sample_negatives`][graphzero.sample_negatives], with out-degree for sources. An array has weights of
            destinations and leaves sources uniform; a tuple ``(of sources, of destinations)`` says it for each end,
            where ``None`` is uniform.
        power: The exponent of ``"degree"``, above 0 and at most 1.
        exclude_edges: Leave out pairs that are edges; the others keep their proportions.
        seed: The same seed gives the same result for any number of threads. Without one every call differs.

    Returns:
        Sources and destinations.

    Raises:
        ValueError: Excluding edges leaves no pair.

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
        raise type_error("power", f"expected a number, found {power!r}") from None
    options.exclude_edges = bool(exclude_edges)
    options.seed = as_seed(seed)
    return options


def _end_law(by: Any, name: str) -> _core.EndLaw:
    if by is None:
        by = "uniform"
    if not isinstance(by, str):
        return _core.EndLaw(float64_vector(by, name), name)
    if by not in _LAWS:
        raise value_error(name, f"expected 'uniform', 'degree' or an array of weights, found {by!r}")
    return _core.EndLaw(_LAWS[by])


def _kind(by: Any) -> str:
    return repr(by) if isinstance(by, str) else type(by).__name__


def _count(value: Any, name: str) -> int:
    count = integer(value, name)
    if not 0 <= count < 2**63:
        raise value_error(name, f"expected 0 to 2^63 - 1, found {count}")
    return count
