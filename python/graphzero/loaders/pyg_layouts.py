"""The edges of a graph in PyG's layouts: as they are stored, or made in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch_geometric.data.graph_store import EdgeLayout

from graphzero.graph import Direction, Graph
from graphzero.loaders.tensors import mapped_tensor

# Which index of a graph has a layout.
SIDES: dict[EdgeLayout, Direction] = {EdgeLayout.CSC: "in", EdgeLayout.CSR: "out"}
# Entries that are turned into pairs at a time.
_BLOCK = 1 << 22


def layout_bytes(graph: Graph, layout: EdgeLayout) -> int:
    """Count the memory that a layout takes beyond the mapped file."""
    word = 8 * graph.num_edges
    side = SIDES.get(layout)
    if side is None:
        return 2 * word + (0 if graph.directed else word)
    if side in graph.indexes:
        index = graph.index(side)
        return sum(word for ids in (index.indices, index.edge_ids) if ids is not None and ids.dtype != np.int64)
    # Pairs, their order, the order's own copy while it is sorted, one end in that order, and offsets.
    return 5 * word + 8 * (max(graph.num_src_nodes, graph.num_dst_nodes) + 1)


def in_layout(graph: Graph, layout: EdgeLayout) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Return the two arrays of a layout as int64, and the edge ids, ``None`` where an edge's position is its id."""
    side = SIDES.get(layout)
    if side is None:
        return _pairs(graph)
    if side in graph.indexes:
        index = graph.index(side)
        indptr, far = mapped_tensor(index.indptr), mapped_tensor(index.indices).long()
        ids = None if index.edge_ids is None else mapped_tensor(index.edge_ids).long()
    else:
        src, dst, _ = _pairs(graph)  # in order of edge id: a graph without one of the indexes is directed
        near, other = (dst, src) if side == "in" else (src, dst)
        ids = torch.argsort(near, stable=True)
        count = graph.num_dst_nodes if side == "in" else graph.num_src_nodes
        indptr = torch.zeros(count + 1, dtype=torch.int64)
        torch.cumsum(torch.bincount(near, minlength=count), 0, out=indptr[1:])
        far = other[ids]
    return (far, indptr, ids) if side == "in" else (indptr, far, ids)


def _pairs(graph: Graph) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    side: Direction = "in" if "in" in graph.indexes else "out"
    index = graph.index(side)
    near, far = np.empty((2, graph.num_edges), dtype=np.int64)
    # An undirected graph has two edges of each id, so they stay as they are stored.
    in_order = graph.directed and index.edge_ids is not None
    for start in range(0, graph.num_edges, _BLOCK):
        stop = min(start + _BLOCK, graph.num_edges)
        places: Any = index.edge_ids[start:stop] if in_order and index.edge_ids is not None else slice(start, stop)
        far[places] = index.indices[start:stop]
        near[places] = np.searchsorted(index.indptr, np.arange(start, stop), side="right") - 1
    ids = None
    if not in_order and index.edge_ids is not None:
        ids = mapped_tensor(index.edge_ids).long()
    src, dst = (far, near) if side == "in" else (near, far)
    return torch.from_numpy(src), torch.from_numpy(dst), ids
