"""Edges that are drawn, not read: a law gives any of them by its number."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._base.arrays import plain
from graphzero.convert.edge_sources.batch import EdgeBatch, NodeCount, checked_rows


class SyntheticSource:
    """Edges of a law, or each with its ends exchanged. ``span`` is the largest time plus one, ``None`` for no times."""

    undirected = False

    def __init__(
        self,
        edges: _core.SyntheticEdges,
        ends: tuple[int, int],
        *,
        bipartite: bool,
        reverse: bool = False,
        span: int | None = None,
    ) -> None:
        self._edges = edges
        self._ends = ends
        self._reverse = reverse
        self._span = span
        self.name = "synthetic edges"
        self.num_edges: int | None = edges.num_edges
        counts = ends[::-1] if reverse else ends
        self.num_nodes: NodeCount = counts if bipartite else counts[0]

    def batches(self, rows: int) -> Iterator[EdgeBatch]:
        """Draw all edges, at most ``rows`` at a time."""
        total = self._edges.num_edges
        for first in range(0, total, checked_rows(rows)):
            src, dst = map(plain, self._edges.edges(first, min(rows, total - first)))
            time = None
            if self._span is not None:
                time = np.maximum(
                    node_times(src, self._ends[0], self._span), node_times(dst, self._ends[1], self._span)
                )
            yield EdgeBatch(dst, src, time=time) if self._reverse else EdgeBatch(src, dst, time=time)


def node_times(ids: NDArray[np.int64], count: int, span: int) -> NDArray[np.int64]:
    """Return when nodes appear: in the order of their ids, spread over ``span``."""
    return ids if count == span else (ids * (span / count)).astype(np.int64)
