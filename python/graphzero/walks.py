"""Random walks: uniform, weighted, node2vec, with restart, and along a metapath."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphzero import _core
from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.arrays import int64_vector, plain
from graphzero._base.integers import as_seed, integer
from graphzero.dataset import Dataset, EdgeTriple, EdgeType, type_text
from graphzero.graph import Direction, Graph, as_direction

GraphsByType: TypeAlias = "Mapping[EdgeTriple, Graph] | Mapping[EdgeTriple, EdgeType]"


def random_walk(
    graph: Graph | Dataset | GraphsByType,
    start_nodes: ArrayLike,
    walk_length: int,
    *,
    p: float = 1.0,
    q: float = 1.0,
    weighted: bool = False,
    restart: float = 0.0,
    metapath: Sequence[EdgeTriple] | None = None,
    direction: Direction = "out",
    seed: int | None = None,
) -> NDArray[np.int64]:
    """Take random steps from each of ``start_nodes``.

    A walk stands still at a node without edges.

    Args:
        graph: A graph; with a ``metapath`` a data set, or a mapping of its triples to graphs.
        start_nodes: Node ids.
        walk_length: The number of steps.
        p: The return parameter of node2vec: after a step from ``t``, an edge back to ``t`` counts ``1/p``.
        q: The in-out parameter of node2vec: an edge to a node that ``t`` has no edge to counts ``1/q``, others count 1.
        weighted: Follow edges in proportion to their weights. Otherwise all edges of a node are equally likely.
        restart: The probability that a step goes back to the start. The step after it ignores ``p`` and ``q``.
        metapath: A sequence of ``(source, relation, destination)``: step ``s`` follows edges of ``metapath[s %
            len(metapath)]``, so that a column has nodes of one type. A walk that cannot go on is filled with -1.
            Restarts happen only at steps that lead to the type of the start.
        direction: ``"out"`` follows edges forwards, ``"in"`` backwards.
        seed: The same seed gives the same walks for any number of threads. Without one every call differs.

    Returns:
        A row per start: the start, then a node per step.

    Raises:
        IndexError: A start is not a node of the graph.

    Examples:
        >>> g = Graph(tiny_gl)                                  # 0→1  0→2  1→2  3→0
        >>> random_walk(g, [3, 2], 4, seed=0)
        array([[3, 0, 1, 2, 2],
               [2, 2, 2, 2, 2]])
    """
    options = _core.WalkOptions()
    options.length = _length(walk_length)
    options.p = _number(p, "p")
    options.q = _number(q, "q")
    options.restart = _number(restart, "restart")
    options.weighted = bool(weighted)
    options.seed = as_seed(seed)
    starts = int64_vector(start_nodes, "start_nodes")
    side = as_direction(direction)
    if metapath is None:
        return plain(_core.random_walk(_only_graph(graph)._core, side, starts, options))
    if side != _core.Direction.OUT:
        raise value_error("direction", "expected 'out' with a metapath, which says where each step leads, found 'in'")
    return plain(_core.metapath_walk(_steps(graph, metapath, options.length), starts, options))


def _length(value: Any) -> int:
    length = integer(value, "walk_length")
    if not 0 <= length < 2**63:
        raise value_error("walk_length", f"expected 0 to 2^63 - 1, found {length}")
    return length


def _number(value: Any, name: str) -> float:
    if not isinstance(value, Real):
        raise type_error(name, f"expected a number, found {value!r}")
    return float(value)


def _only_graph(graph: Any) -> Graph:
    if isinstance(graph, Dataset):
        return graph.graph
    if isinstance(graph, Mapping):
        raise value_error("metapath", "expected one, because graph is a mapping of edge types, found None")
    if not isinstance(graph, Graph):
        raise type_error(
            "graph", f"expected a Graph, a Dataset or a mapping of edge types, found {type(graph).__name__}"
        )
    return graph


def _steps(graph: Any, metapath: Sequence[EdgeTriple], length: int) -> list[tuple[_core.Topology, bool]]:
    """Look up the graph of each edge type, and whether it leads to the type that walks start from."""
    edges = graph.edges if isinstance(graph, Dataset) else graph
    if not isinstance(edges, Mapping):
        raise type_error(
            "graph", f"expected a Dataset or a mapping of edge types with a metapath, found {type(graph).__name__}"
        )
    path = as_metapath(metapath, list(edges), length)
    return [(_graph_of(edges[kind])._core, kind[2] == path[0][0]) for kind in path]


def as_metapath(metapath: Sequence[EdgeTriple], edge_types: Sequence[EdgeTriple], length: int) -> list[EdgeTriple]:
    """Read a ``metapath`` that walks of ``length`` steps follow; all of it must be among ``edge_types``."""
    path = [_triple(kind, at) for at, kind in enumerate(metapath)]
    if not path:
        raise value_error("metapath", "expected at least one edge type, found none")
    for at, kind in enumerate(path):
        if kind not in edge_types:
            there = ", ".join(type_text(known) for known in edge_types)
            raise ValueError(f"metapath[{at}]: no edge type {type_text(kind)}; there are {there}")
    for at, (kind, following) in enumerate(pairwise(path)):
        if kind[2] != following[0]:
            raise ValueError(
                f"metapath[{at + 1}]: expected an edge type from {kind[2]!r}, where {type_text(kind)} leads, "
                f"found {type_text(following)}"
            )
    if length > len(path) and path[-1][2] != path[0][0]:
        raise value_error(
            "walk_length",
            f"expected at most {len(path)}, found {length}: the metapath leads from {path[0][0]!r} to "
            f"{path[-1][2]!r} and cannot be repeated",
        )
    return path


def _triple(kind: Any, at: int) -> EdgeTriple:
    if isinstance(kind, str) or not isinstance(kind, Sequence) or len(kind) != 3:
        raise TypeError(f"metapath[{at}]: expected (source, relation, destination), found {kind!r}")
    return kind[0], kind[1], kind[2]


def _graph_of(edge: Any) -> Graph:
    found = edge.graph if isinstance(edge, EdgeType) else edge
    if not isinstance(found, Graph):
        raise type_error("graph", f"expected a Graph for every edge type, found {type(found).__name__}")
    return found
