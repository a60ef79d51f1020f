"""Every edge of a graph as pairs in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._base.argument_errors import value_error
from graphzero._base.arrays import check_stored_ids
from graphzero._base.memory_sizes import byte_text, pipeline_budget
from graphzero.graph import Direction, Graph, as_direction

# Entries that are turned into pairs at a time.
_BLOCK = 1 << 22


def stored_edges(graph: Graph) -> Iterator[tuple[slice, NDArray[Any], NDArray[Any], NDArray[Any] | None]]:
    """Yield blocks of edges as they are stored: a slice, sources, destinations and ids.

    Without ids, the position of an edge is its id. An undirected graph stores an edge once for each of its nodes, and
    gives it by source. A file whose offsets or ids lead outside it is a ``FormatError``, before the first block.
    """
    side: Direction = "in" if graph.directed and "in" in graph.indexes else "out"
    graph._core.check_index(as_direction(side))
    index = graph.index(side)
    for start in range(0, graph.num_edges, _BLOCK):
        part = slice(start, min(start + _BLOCK, graph.num_edges))
        near = np.searchsorted(index.indptr, np.arange(part.start, part.stop), side="right") - 1
        far = index.indices[part]
        src, dst = (far, near) if side == "in" else (near, far)
        yield part, src, dst, None if index.edge_ids is None else index.edge_ids[part]


def edges_by_id(graph: Graph) -> NDArray[np.int64]:
    """Return sources and destinations in order of edge id, 16 bytes per edge.

    An edge of an undirected graph comes once, from its lower to its higher node. Both ends are -1 where a conversion
    dropped a repeated edge or a self-loop.
    """
    by_id = np.full((2, graph.num_input_edges), -1, dtype=np.int64)
    for part, src, dst, ids in stored_edges(graph):
        kept = slice(None) if graph.directed else src <= dst
        places = part if ids is None else ids[kept]
        by_id[0, places], by_id[1, places] = src[kept], dst[kept]
    return by_id


def all_edges(graph: Graph, name: str) -> NDArray[np.int64]:
    """Return every edge once, in order of edge id, if there is memory for it. ``name`` opens the error message."""
    by_id = _by_id_if_it_fits(graph, name)
    there = by_id[0] >= 0
    return by_id if there.all() else by_id[:, there]


def some_edges(graph: Graph, ids: NDArray[np.int64], name: str) -> NDArray[np.int64]:
    """Return the edges with these ids, those of a split. ``name`` opens the error messages."""
    check_stored_ids(ids, graph.num_input_edges, f"{name}: edges of {graph.path}")
    found = _by_id_if_it_fits(graph, name)[:, ids]
    _core.check_intact(ids)
    if (found[0] < 0).any():
        gone = ids[int(np.argmax(found[0] < 0))]
        raise value_error(
            name, f"expected edges of {graph.path}, found the id {gone} of one that was dropped when it was converted"
        )
    return found


def message_edges(graph: Graph, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Return the edges that messages pass along, and their ids; ``None`` for ids that count up from 0.

    Those of a directed graph come in order of edge id. Those of an undirected one come both ways, by source and then as
    they are stored: by destination, as PyG sorts them, or by time if edges have times.
    """
    if graph.directed:
        by_id = _by_id_if_it_fits(graph, name)
        there = np.flatnonzero(by_id[0] >= 0)
        return (by_id, None) if len(there) == by_id.shape[1] else (by_id[:, there], there)
    _check_memory(graph, 24 * graph.num_edges, name)
    pairs = np.empty((2, graph.num_edges), dtype=np.int64)
    edge_ids = np.arange(graph.num_edges)
    for part, src, dst, ids in stored_edges(graph):
        pairs[0, part], pairs[1, part] = src, dst
        if ids is not None:
            edge_ids[part] = ids
    return pairs, edge_ids


def _by_id_if_it_fits(graph: Graph, name: str) -> NDArray[np.int64]:
    _check_memory(graph, 16 * graph.num_input_edges, name)
    return edges_by_id(graph)


def _check_memory(graph: Graph, needed: int, name: str) -> None:
    if needed > pipeline_budget():
        instead = "give those to predict as (src, dst)" if name == "edge_label_index" else "loaders read what they need"
        raise MemoryError(
            f"{name}: listing all {graph.num_input_edges:,} edges of {graph.path} takes {byte_text(needed)}, more than "
            f"half of the memory that is available; {instead}"
        )


def is_undirected(graph: Graph) -> bool:
    """Whether every edge has its reverse."""
    if not graph.directed:
        return True
    if graph.bipartite:
        return False
    return all(bool(graph.has_edges(dst, src).all()) for _, src, dst, _ in stored_edges(graph))


def has_self_loops(graph: Graph) -> bool:
    """Whether an edge leads from a node to itself."""
    return any(bool((src == dst).any()) for _, src, dst, _ in stored_edges(graph))
