"""How the degrees of a graph are distributed: counted over powers of two, and drawn as bars."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphzero as gz
from graphzero._files.progress import watching
from graphzero.graph import Direction

# Offsets of this many nodes are 8 MB: always read, and the most that is read at a time.
CHEAP_NODES = 1 << 20

# A sample takes this many consecutive nodes at each place: their offsets are one page, read in full anyway.
_RUN = 512

_BAR_WIDTH = 24
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


def degree_facts(graph: gz.Graph, direction: Direction, most: int | None = CHEAP_NODES) -> dict[str, Any]:
    """Gather the degrees of one index, in memory that does not grow with the graph.

    A graph of more than ``most`` nodes (at least 512, ``None``: any number) gives a sample of about that many
    from evenly spread places; the least and the largest degree are not known then.
    """
    num_nodes = graph.num_src_nodes if direction == "out" else graph.num_dst_nodes
    most = num_nodes if most is None else most
    sampled = num_nodes > most
    counts = np.zeros(64, dtype=np.int64)
    least, largest = graph.num_edges, 0
    done = 0
    slow = num_nodes > CHEAP_NODES and not sampled
    with watching(slow and sys.stderr.isatty(), f"{direction}-degrees", num_nodes, "nodes", lambda: done):
        for nodes in _spread(num_nodes, most) if sampled else _blocks(num_nodes):
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


def _blocks(num_nodes: int) -> Iterator[NDArray[np.int64]]:
    for start in range(0, num_nodes, CHEAP_NODES):
        yield np.arange(start, min(start + CHEAP_NODES, num_nodes))


def _spread(num_nodes: int, most: int) -> Iterator[NDArray[np.int64]]:
    # There are more than `most` nodes, so starts are at least _RUN apart: no node is taken twice.
    num_runs = most // _RUN
    starts = np.array([run * num_nodes // num_runs for run in range(num_runs)])
    for first in range(0, num_runs, CHEAP_NODES // _RUN):
        yield (starts[first : first + CHEAP_NODES // _RUN, None] + np.arange(_RUN)).ravel()


def degree_rows(name: str, facts: dict[str, Any], *, plot: bool = True) -> list[tuple[str, str]]:
    """Put what ``degree_facts()`` gathered in words, with a bar per power of two on a terminal."""
    if facts["mean"] is None:
        return []
    range_text = "" if facts["min"] is None else f"{facts['min']:,} to {facts['max']:,}, "
    counts = [part["num_nodes"] for part in facts["distribution"]]
    sample_text = f"; below, {sum(counts):,} nodes from evenly spread places" if facts["sampled"] and plot else ""
    rows = [(name, f"{range_text}mean {facts['mean']:.2f}{sample_text}")]
    if not plot:
        return rows
    width = len(f"{max(counts):,}")
    for part, count in zip(facts["distribution"], counts, strict=True):
        degrees = f"{part['min']:,}" + (f" to {part['max']:,}" if part["max"] > part["min"] else "")
        bar = "  " + _bar(count / max(counts)) if count and sys.stdout.isatty() else ""
        rows.append((f"  {degrees}", f"{count:>{width},} {count / sum(counts):>6.1%}{bar}"))
    return rows


def _bar(share: float) -> str:
    """Return a bar of at least an eighth of a column, so that every count shows."""
    whole, eighths = divmod(max(1, round(share * _BAR_WIDTH * 8)), 8)
    return "█" * whole + _EIGHTHS[eighths]
