"""Every edge of a graph as pairs, for those who predict them all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphzero.graph import Graph
from graphzero.memory import byte_text, pipeline_budget


def all_edges(graph: Graph, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return sources and destinations by edge id: 16 bytes an edge in memory, which must be there.

    An edge of an undirected graph comes once, from its lower to its higher node.
    """
    needed = 16 * graph.num_input_edges + 16 * graph.num_edges
    if needed > pipeline_budget():
        raise MemoryError(
            f"{name}: expected edges to be given, as listing all {graph.num_input_edges:,} of {graph.path} takes "
            f"{byte_text(needed)}, found none; give those to predict as (src, dst)"
        )
    direction = graph.indexes[0]
    index = graph.index(direction)
    near = np.repeat(np.arange(len(index.indptr) - 1, dtype=np.int64), np.diff(index.indptr))
    src, dst = (near, index.indices) if direction == "out" else (index.indices, near)
    if index.edge_ids is None:
        return src.astype(np.int64), dst.astype(np.int64)
    kept = slice(None) if graph.directed else src <= dst
    by_id = np.empty((2, graph.num_input_edges), dtype=np.int64)
    by_id[0, index.edge_ids[kept]] = src[kept]
    by_id[1, index.edge_ids[kept]] = dst[kept]
    return by_id[0], by_id[1]
