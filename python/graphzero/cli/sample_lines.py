"""How ``graphzero sample`` writes neighbourhoods and walks, cut to the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import graphzero as gz
from graphzero._base.arrays import IntArray
from graphzero.cli.console import terminal_size
from graphzero.dataset import EdgeTriple
from graphzero.graph import Direction

_ARROWS = {"in": "←", "out": "→"}


def hop_lines(
    data: gz.Graph | gz.Dataset,
    kind: str,
    found: gz.Neighborhood | gz.HeteroNeighborhood,
    num_hops: int,
    direction: Direction,
) -> list[str]:
    """Return lines that say hop by hop which node drew which neighbours; ``kind`` is the type of the seeds."""
    if isinstance(found, gz.Neighborhood):
        found = _by_type(found, kind)
    assert found.num_sampled_edges is not None
    width, height = terminal_size()
    # The rest is for title, totals and prompt and, for each hop, its head and the count of what is left out.
    most = None if height is None else max(3, (height - 4) // num_hops - 2)
    begins = dict.fromkeys(found.row, 0)
    lines = []
    for hop in range(num_hops):
        edges = {triple: counts[hop] for triple, counts in found.num_sampled_edges.items()}
        new = sum(counts[hop + 1] for counts in found.num_sampled_nodes.values())
        lines.append(f"  hop {hop + 1}: {_count(sum(edges.values()), 'edge')}, {_count(new, 'new node')}")
        shown, left = 0, 0
        for triple, count in edges.items():
            drawn = slice(begins[triple], begins[triple] + count)
            begins[triple] += count
            groups = _by_near_node(found, triple, drawn, direction)
            room = len(groups) if most is None else max(0, most - shown)
            lines += [_group_line(data, triple, *group, direction, width) for group in groups[:room]]
            shown += len(groups[:room])
            left += len(groups[room:])
        if left:
            lines.append(f"    … {_count(left, 'more line')}")
    nodes = sum(map(len, found.node.values()))
    return [*lines, f"  {_count(nodes, 'node')}, {_count(sum(map(len, found.row.values())), 'edge')}"]


def walk_lines(
    data: gz.Graph | gz.Dataset, kind: str, graph: gz.Graph, walks: IntArray, direction: Direction
) -> list[str]:
    """Return a line for each walk, up to where it stays; ``kind`` is the type of its nodes."""
    width, height = terminal_size()
    # The rest is for title, the count of what is left out, totals and prompt.
    room = len(walks) if height is None else max(3, height - 4)
    lines = []
    for nodes in walks[:room]:
        stuck = graph.degree(nodes[-1:], direction)[0] == 0
        steps = nodes[: int(np.argmax(nodes == nodes[-1])) + 1] if stuck else nodes
        end = f", which has no edges {direction}" if stuck else ""
        left = None if width is None else width - len(end)
        lines.append(_fitted(data, kind, steps, "  ", f" {_ARROWS[direction]} ", left) + end)
    if len(walks) > room:
        lines.append(f"  … {_count(len(walks) - room, 'more walk')}")
    return [*lines, f"  {_count(len(walks), 'walk')} of {_count(walks.shape[1] - 1, 'step')}"]


def _by_type(found: gz.Neighborhood, kind: str) -> gz.HeteroNeighborhood:
    triple = (kind, "to", kind)
    return gz.HeteroNeighborhood(
        node={kind: found.node},
        row={triple: found.row},
        col={triple: found.col},
        edge={triple: found.edge},
        batch=None,
        num_sampled_nodes={kind: found.num_sampled_nodes},
        num_sampled_edges=None if found.num_sampled_edges is None else {triple: found.num_sampled_edges},
    )


def _by_near_node(
    found: gz.HeteroNeighborhood, triple: EdgeTriple, drawn: slice, direction: Direction
) -> list[tuple[int, IntArray]]:
    """Return each node that drew edges of a type in a hop, with the neighbours it drew."""
    near, far = found.row[triple][drawn], found.col[triple][drawn]
    near_type, far_type = triple[0], triple[2]
    if direction == "in":
        near, far, near_type, far_type = far, near, far_type, near_type
    begins = np.flatnonzero(np.diff(near, prepend=-1))
    neighbors = np.split(found.node[far_type][far], begins[1:])
    # No edges at all split into one empty part.
    return list(zip(found.node[near_type][near[begins]].tolist(), neighbors, strict=False))


def _group_line(
    data: gz.Graph | gz.Dataset, triple: EdgeTriple, near: int, far: IntArray, direction: Direction, width: int | None
) -> str:
    near_type, far_type = (triple[2], triple[0]) if direction == "in" else (triple[0], triple[2])
    arrow = _ARROWS[direction]
    start = f"{_node_texts(data, near_type, [near])[0]} {arrow} "
    if isinstance(data, gz.Dataset) and data.is_hetero:
        start = f"{near_type} {start}{triple[1]} {arrow} {far_type} "
    return _fitted(data, far_type, far, f"    {start}", ", ", width)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _fitted(
    data: gz.Graph | gz.Dataset, kind: str, ids: IntArray, start: str, separator: str, width: int | None
) -> str:
    """Write as many of ``ids`` as the width has room for, and how many are left out."""
    if width is None:
        return start + separator.join(_node_texts(data, kind, ids))
    from rich.cells import cell_len

    texts = _node_texts(data, kind, ids[:width])
    for shown in range(len(texts), 1, -1):
        line = _joined(start, texts[:shown], separator, len(ids))
        if cell_len(line) <= width:
            return line
    return _joined(start, texts[:1], separator, len(ids))


def _joined(start: str, texts: list[str], separator: str, count: int) -> str:
    rest = [] if len(texts) == count else [f"… {count - len(texts):,} more"]
    return start + separator.join([*texts, *rest])


def _node_texts(data: gz.Graph | gz.Dataset, kind: str, ids: Sequence[int] | IntArray) -> list[str]:
    """Write nodes as ids, with what the data set calls them and the class it puts them in."""
    known: list[list[str]] = [[] for _ in ids]
    if isinstance(data, gz.Dataset):
        node_type = data.nodes[kind]
        if node_type.ids is not None:
            for words, name in zip(known, node_type.ids.labels(ids).tolist(), strict=True):
                words.append(repr(name) if isinstance(name, str) else f"id {name}")
        label = None if node_type.label is None else node_type[node_type.label]
        if label is not None and label.shape[1:] in ((), (1,)):  # several values say more than a line holds
            for words, value in zip(known, label.gather(ids).ravel(), strict=True):
                words.append(f"{node_type.label} {value}")
    return [f"{id} ({', '.join(words)})" if words else str(id) for id, words in zip(ids, known, strict=True)]
