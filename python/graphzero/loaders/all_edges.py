"""Every edge of a graph as pairs, for those who want them all in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero.graph import Direction, Graph
from graphzero.memory import byte_text, pipeline_budget

# Entries that are turned into pairs at a time.
_BLOCK = 1 << 22


def stored_edges(graph: Graph) -> Iterator[tuple[slice, NDArray[Any], NDArray[Any], NDArray[Any] | None]]:
    """Yield blocks of edges as they are stored: which of them, sources, destinations, and ids.

    Without ids an edge's place is its id. An undirected graph stores an edge once from each of its nodes.
    """
    side: Direction = "in" if "in" in graph.indexes else "out"
    index = graph.index(side)
    for start in range(0, graph.num_edges, _BLOCK):
        part = slice(start, min(start + _BLOCK, graph.num_edges))
        near = np.searchsorted(index.indptr, np.arange(part.start, part.stop), side="right") - 1
        far = index.indices[part]
        src, dst = (far, near) if side == "in" else (near, far)
        yield part, src, dst, None if index.edge_ids is None else index.edge_ids[part]


def edges_by_id(graph: Graph) -> NDArray[np.int64]:
    """Return sources and destinations in order of edge id: 16 bytes an edge.

    An edge of an undirected graph comes once, from its lower to its higher node.
    """
    by_id = np.empty((2, graph.num_input_edges), dtype=np.int64)
    for part, src, dst, ids in stored_edges(graph):
        kept = slice(None) if graph.directed else src <= dst
        places = part if ids is None else ids[kept]
        by_id[0, places], by_id[1, places] = src[kept], dst[kept]
    return by_id


def all_edges(graph: Graph, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return what :func:`edges_by_id` does, if there is memory for it. ``name`` opens the error message."""
    needed = 16 * graph.num_input_edges
    if needed > pipeline_budget():
        raise MemoryError(
            f"{name}: expected edges to be given, as listing all {graph.num_input_edges:,} of {graph.path} takes "
            f"{byte_text(needed)}, found none; give those to predict as (src, dst)"
        )
    src, dst = edges_by_id(graph)
    return src, dst
