"""Whether samples are samples: of three hops, and of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import graphzero as gz


class SampleCheck:
    """Knows the two ends of each edge of a graph, and how many edges into a node can be drawn."""

    def __init__(self, graph: gz.Graph, fanouts: Sequence[int]) -> None:
        # Samples are drawn from the in index; where there is an out index, too, the ends come from that one.
        direction = graph.indexes[0]
        index = graph.index(direction)
        self._graph, self._fanouts = graph, fanouts
        self.direction, self.indptr, self.indices = direction, index.indptr, index.indices
        # Undirected edges have one id for both ways.
        self._ids_tell_ends = graph.directed or index.edge_ids is None
        self._place = None
        if index.edge_ids is not None and self._ids_tell_ends:
            self._place = np.empty_like(index.edge_ids)
            self._place[index.edge_ids] = np.arange(len(index.edge_ids))
        drawn = graph.index("in")
        self.degree = np.diff(drawn.indptr)
        if drawn.weights is not None:
            never = np.searchsorted(drawn.indptr, np.flatnonzero(drawn.weights == 0), "right") - 1
            self.degree -= np.bincount(never, minlength=len(self.degree))

    def _ends(self, edge: Any) -> tuple[Any, Any]:
        place = edge if self._place is None else self._place[edge]
        near, far = np.searchsorted(self.indptr, place, "right") - 1, self.indices[place]
        return (near, far) if self.direction == "out" else (far, near)

    def wrong_edges(self, node: Any, row: Any, col: Any, edge: Any, seeds: Any) -> str | None:
        """Return what is wrong with the edges and nodes of a sample, or nothing."""
        if not np.array_equal(node[: len(seeds)], seeds) or len(np.unique(node)) != len(node):
            return "nodes are not the seeds and then others, each once"
        if not self._ids_tell_ends:
            return None if self._graph.has_edges(node[row], node[col]).all() else "an edge that is none"
        src, dst = self._ends(edge)
        if not (np.array_equal(src, node[row]) and np.array_equal(dst, node[col])):
            return "an edge is not its edge id's"
        return None

    def wrong_counts(self, hood: Any) -> str | None:
        """Return what is wrong with the number of edges at each hop, or nothing."""
        nodes = np.concatenate([[0], np.cumsum(hood.num_sampled_nodes)])
        edges = np.concatenate([[0], np.cumsum(hood.num_sampled_edges)])
        drawn = np.stack([hood.edge, hood.col])
        if not self._ids_tell_ends:
            drawn = drawn[:, hood.row != hood.col]  # a self-loop stands in its list both ways
        if nodes[-1] != len(hood.node) or edges[-1] != len(hood.row) or np.unique(drawn, axis=1).shape != drawn.shape:
            return "counts do not add up, or an edge came twice"
        for hop, fanout in enumerate(self._fanouts):
            expected = np.zeros(len(hood.node), np.int64)
            frontier = slice(nodes[hop], nodes[hop + 1])
            expected[frontier] = np.minimum(fanout, self.degree[hood.node[frontier]])
            found = np.bincount(hood.col[edges[hop] : edges[hop + 1]], minlength=len(hood.node))
            if not np.array_equal(found, expected):
                return f"hop {hop} does not have {fanout} edges per node, or all"
        return None


def wrong_rival_sample(
    graph: gz.Graph, sample: dict[str, Any], seeds: Any, fanouts: Sequence[int], *, redraws: bool
) -> str | None:
    """Return what is wrong with three hops of a rival, whose edge ids are places in the in index, or nothing.

    ``redraws``: at each hop it draws for the nodes of the hops before, too, and so more edges.
    """
    node, row, col, edge = (sample[name] for name in ("node", "row", "col", "edge"))
    index = graph.index("in")
    if not np.array_equal(node[: len(seeds)], seeds) or len(np.unique(node)) != len(node):
        return "nodes are not the seeds and then others, each once"
    into = np.searchsorted(index.indptr, edge, "right") - 1
    if not (np.array_equal(index.indices[edge], node[row]) and np.array_equal(into, node[col])):
        return "an edge is not its edge id's"
    if np.bincount(col).max() > (sum(fanouts) if redraws else max(fanouts)):
        return "more edges into a node than the fanout"
    if not redraws and len(np.unique(edge)) != len(edge):
        return "an edge came twice"
    seed_edges = np.bincount(col, minlength=len(node))[: len(seeds)]
    least = np.minimum(fanouts[0], np.diff(index.indptr)[seeds])
    return None if (seed_edges >= least).all() else f"a seed has neither {fanouts[0]} edges nor all"


def wrong_fanout(graph: gz.Graph, starts: Any, drawn: Any, counts: Any, fanout: int) -> str | None:
    """Return what is wrong with a table of neighbours per start, of which ``counts`` count, or nothing."""
    if not np.array_equal(counts, np.minimum(graph.degree(starts), fanout)):
        return f"a node does not have {fanout} neighbours, or all"
    if drawn.shape != (len(starts), fanout):
        return f"a table of {drawn.shape}, expected {(len(starts), fanout)}"
    real = np.arange(fanout) < counts[:, None]
    if not graph.has_edges(np.repeat(starts, counts), drawn[real]).all():
        return "a neighbour that is none"
    return None
