"""The edges of a graph in PyG's layouts: as they are stored, or made in memory."""

from __future__ import annotations

import numpy as np
import torch
from torch_geometric.data.graph_store import EdgeLayout

from graphzero._dataset.all_edges import message_edges
from graphzero.graph import Direction, Graph, as_direction
from graphzero.loaders._batch.tensors import mapped_tensor

# Which index of a graph has a layout.
SIDES: dict[EdgeLayout, Direction] = {EdgeLayout.CSC: "in", EdgeLayout.CSR: "out"}


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
        graph._core.check_index(as_direction(side))  # PyG's samplers follow the arrays unchecked
        index = graph.index(side)
        indptr, far = mapped_tensor(index.indptr), mapped_tensor(index.indices).long()
        ids = None if index.edge_ids is None else mapped_tensor(index.edge_ids).long()
    else:
        src, dst, edge_ids = _pairs(graph)  # in order of edge id: a graph without one of the indexes is directed
        near, other = (dst, src) if side == "in" else (src, dst)
        order = torch.argsort(near, stable=True)
        ids = order if edge_ids is None else edge_ids[order]
        count = graph.num_dst_nodes if side == "in" else graph.num_src_nodes
        indptr = torch.zeros(count + 1, dtype=torch.int64)
        torch.cumsum(torch.bincount(near, minlength=count), 0, out=indptr[1:])
        far = other[order]
    return (far, indptr, ids) if side == "in" else (indptr, far, ids)


def _pairs(graph: Graph) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    pairs, ids = message_edges(graph, "coo")
    src, dst = torch.from_numpy(pairs)
    return src, dst, None if ids is None else torch.from_numpy(ids)
