"""How the degrees of a graph are distributed, counted over powers of two, and how many nodes have no edge."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphzero._files.progress import watching
from graphzero._look.places import BLOCK, places

if TYPE_CHECKING:
    from graphzero.graph import Direction, Graph


def degree_facts(graph: Graph, direction: Direction, most: int | None) -> dict[str, Any]:
    """Gather the degrees of one index, in memory that does not grow with the graph.

    A graph of more than ``most`` nodes (at least 512, ``None``: any number) gives a sample of about that many
    from evenly spread places; the least and the largest degree are not known then.
    """
    num_nodes = graph.num_src_nodes if direction == "out" else graph.num_dst_nodes
    sampled = most is not None and num_nodes > most
    counts = np.zeros(64, dtype=np.int64)
    least, largest = graph.num_edges, 0
    done = 0
    slow = num_nodes > BLOCK and not sampled
    with watching(slow and sys.stderr.isatty(), f"{direction}-degrees", num_nodes, "nodes", lambda: done):
        for nodes in places(num_nodes, most, block=BLOCK):
            degrees = graph.degree(nodes, direction)
            least, largest = min(least, int(degrees.min())), max(largest, int(degrees.max()))
            counts += np.bincount(np.frexp(degrees)[1], minlength=len(counts))  # the exponent is the bit length
            done += len(nodes)
    known = num_nodes > 0 and not sampled
    return {
        "min": least if known else None,
        "mean": graph.num_edges / num_nodes if num_nodes else None,
        "max": largest if known else None,
        "sampled": sampled,
        "distribution": [
            {"min": 1 << bits >> 1, "max": (1 << bits) - 1, "num_nodes": count}
            for bits, count in enumerate(np.trim_zeros(counts, "b").tolist())
        ],
    }


def all_degree_facts(graph: Graph, most: int | None) -> dict[str, Any]:
    """Gather the degrees of each index."""
    if not graph.directed:  # one index serves both directions
        return dict.fromkeys(graph.indexes, degree_facts(graph, graph.indexes[0], most))
    return {direction: degree_facts(graph, direction, most) for direction in graph.indexes}


def isolated_facts(num_nodes: int, sides: Sequence[tuple[Graph, Direction]], most: int | None) -> dict[str, Any] | None:
    """Count nodes without an edge on any of these sides of graphs; ``None`` if a side has no index to look it up."""
    if any(direction not in graph.indexes for graph, direction in sides):
        return None
    found = read = 0
    for nodes in places(num_nodes, most, block=BLOCK):
        alone = np.ones(len(nodes), dtype=np.bool_)
        for graph, direction in sides:
            alone &= graph.degree(nodes, direction) == 0
        found, read = found + int(alone.sum()), read + len(nodes)
    return {"num_nodes": found, "of": read, "sampled": read < num_nodes}
