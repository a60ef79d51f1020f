"""Blocks: a sampled neighbourhood layer by layer, in the form that DGL's ``create_block`` takes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any, overload

import numpy as np

from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.arrays import IntArray
from graphzero.dataset import EDGE, NODE, EdgeTriple
from graphzero.sampling import HeteroNeighborhood, Neighborhood


@dataclass(frozen=True)
class Block:
    """The edges along which one layer sends messages.

    Destination ``i`` receives from ``indices[indptr[i]:indptr[i + 1]]``. If sources and destinations are of one type,
    the sources begin with the destinations.

    Attributes:
        indptr: Where the list of each destination starts, and the end of the last one.
        indices: The sources of each destination, as positions in ``src_nodes``.
        edge: The edge id of each entry of ``indices``.
        src_nodes: Global ids of the sources.
        dst_nodes: Global ids of the destinations.
    """

    indptr: IntArray
    indices: IntArray
    edge: IntArray
    src_nodes: IntArray
    dst_nodes: IntArray

    @property
    def num_src_nodes(self) -> int:
        """The number of nodes that messages come from."""
        return len(self.src_nodes)

    @property
    def num_dst_nodes(self) -> int:
        """The number of nodes that messages go to."""
        return len(self.dst_nodes)

    def __repr__(self) -> str:
        return f"Block({self.num_src_nodes:,} → {self.num_dst_nodes:,} nodes, {len(self.indices):,} edges)"


@dataclass(frozen=True)
class HeteroBlock:
    """The edges along which one layer sends messages, by type.

    The sources of a node type begin with its destinations.

    Attributes:
        relations: The block of each edge type.
        src_nodes: Global ids of the sources by node type.
        dst_nodes: Global ids of the destinations by node type.
    """

    relations: dict[EdgeTriple, Block]
    src_nodes: dict[str, IntArray]
    dst_nodes: dict[str, IntArray]

    @property
    def num_src_nodes(self) -> dict[str, int]:
        """The number of nodes of each type that messages come from."""
        return {name: len(ids) for name, ids in self.src_nodes.items()}

    @property
    def num_dst_nodes(self) -> dict[str, int]:
        """The number of nodes of each type that messages go to."""
        return {name: len(ids) for name, ids in self.dst_nodes.items()}

    def __repr__(self) -> str:
        edges = sum(len(block.indices) for block in self.relations.values())
        nodes = ", ".join(
            f"{name} {count:,} → {self.num_dst_nodes[name]:,}" for name, count in self.num_src_nodes.items()
        )
        return f"HeteroBlock({nodes}; {edges:,} edges)"


@overload
def blocks(sample: Neighborhood) -> list[Block]: ...
@overload
def blocks(sample: HeteroNeighborhood) -> list[HeteroBlock]: ...
def blocks(sample: Any) -> list[Block] | list[HeteroBlock]:
    """Return a block for each layer of a model, that of the first layer first.

    The first layer uses all edges, each further one leaves out the outermost hop, and the last uses those that lead to
    seeds. The destinations of a block are the sources of the next; the first sources are ``sample.node``.

    Args:
        sample: What [`sample_neighbors`][graphzero.sample_neighbors] returns, or the ``sample`` of a batch.

    Raises:
        ValueError: The sample is not directional, or was not drawn with ``direction="in"``.

    Examples:
        >>> from graphzero import Graph, sample_neighbors
        >>> first, last = blocks(sample_neighbors(Graph(tiny_gl), [2], [-1, -1]))   # 0→1  0→2  1→2  3→0
        >>> first.src_nodes, first.dst_nodes, first.indptr, first.indices
        (array([2, 0, 1, 3]), array([2, 0, 1]), array([0, 2, 3, 4]), array([1, 2, 3, 1]))
        >>> last.dst_nodes, last.indptr, last.indices
        (array([2]), array([0, 2]), array([1, 2]))
    """
    if not isinstance(sample, (Neighborhood, HeteroNeighborhood)):
        hint = "; a batch has one as its .sample" if hasattr(sample, "sample") else ""
        raise type_error("sample", f"expected what sample_neighbors returns, found {type(sample).__name__}{hint}")
    if sample.num_sampled_edges is None:
        raise value_error(
            "sample",
            "expected one whose edges are grouped by hop, found num_sampled_edges=None; "
            "sample with subgraph_type='directional'",
        )
    if isinstance(sample, HeteroNeighborhood):
        return _layers(sample)
    one_type = HeteroNeighborhood(
        node={NODE: sample.node},
        row={EDGE: sample.row},
        col={EDGE: sample.col},
        edge={EDGE: sample.edge},
        batch=None,
        num_sampled_nodes={NODE: sample.num_sampled_nodes},
        num_sampled_edges={EDGE: sample.num_sampled_edges},
    )
    return [layer.relations[EDGE] for layer in _layers(one_type)]


def _layers(sample: HeteroNeighborhood) -> list[HeteroBlock]:
    nodes = {name: [0, *accumulate(counts)] for name, counts in sample.num_sampled_nodes.items()}
    edges = {triple: [0, *accumulate(counts)] for triple, counts in (sample.num_sampled_edges or {}).items()}
    for triple, counts in edges.items():
        _check_direction(sample.col[triple], counts, nodes[triple[2]])
    num_hops = max((len(counts) - 1 for counts in edges.values()), default=0)
    found = []
    for hops in range(num_hops, 0, -1):
        src = {name: sample.node[name][: counts[hops + 1]] for name, counts in nodes.items()}
        dst = {name: sample.node[name][: counts[hops]] for name, counts in nodes.items()}
        relations = {}
        for triple, counts in edges.items():
            row, col, edge = (ends[triple][: counts[hops]] for ends in (sample.row, sample.col, sample.edge))
            relations[triple] = _block(row, col, edge, src[triple[0]], dst[triple[2]])
        found.append(HeteroBlock(relations, src, dst))
    return found


def _check_direction(col: IntArray, edges: list[int], nodes: list[int]) -> None:
    """Refuse edges that do not lead to the nodes they were drawn for, as those of ``direction="out"``."""
    for hop in range(len(edges) - 1):
        ends = col[edges[hop] : edges[hop + 1]]
        wrong = np.flatnonzero((ends < nodes[hop]) | (ends >= nodes[hop + 1]))
        if len(wrong):
            at = edges[hop] + int(wrong[0])
            raise value_error(
                "sample",
                f"expected edges of hop {hop} to lead to the nodes they were drawn for, which are in places "
                f"{nodes[hop]} to {nodes[hop + 1] - 1}, found col[{at}] = {col[at]}; sample with direction='in'",
            )


def _block(row: IntArray, col: IntArray, edge: IntArray, src: IntArray, dst: IntArray) -> Block:
    order = np.argsort(col, kind="stable")
    indptr = np.zeros(len(dst) + 1, np.int64)
    np.cumsum(np.bincount(col, minlength=len(dst)), out=indptr[1:])
    return Block(indptr, row[order], edge[order], src, dst)
