"""``graphzero sample``: look at one neighbourhood, or at walks. docs/guide/command-line.md lists the JSON."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer

import graphzero as gz
from graphzero.cli.console import JsonOption, print_json, print_lines, terminal_size, text_keys
from graphzero.dataset import NODE, EdgeTriple
from graphzero.graph import Direction, as_direction
from graphzero.sampling import HeteroNeighborhood, IntArray
from graphzero.seeds import as_seed
from graphzero.verify import is_features, is_ids

_FANOUTS = "15,10"
_MOST_STEPS = 10_000_000  # far more than anyone looks at, and 80 MB


def sample(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A .gl file or a data set folder.", show_default=False)],
    nodes: Annotated[
        list[str], typer.Argument(metavar="NODE...", help="Node ids, or labels of the data set.", show_default=False)
    ],
    fanouts: Annotated[
        str | None, typer.Option(help=f"Neighbours to draw per node at each hop, -1 for all; {_FANOUTS} if not given.")
    ] = None,
    walk: Annotated[int | None, typer.Option(metavar="LENGTH", min=1, help="Walk so many steps instead.")] = None,
    walks: Annotated[int | None, typer.Option(min=1, help="Walks from each node; 1 if not given.")] = None,
    p: Annotated[float | None, typer.Option(help="Walks: node2vec's p; 1 if not given.")] = None,
    q: Annotated[float | None, typer.Option(help="Walks: node2vec's q; 1 if not given.")] = None,
    direction: Annotated[
        str | None, typer.Option(help="in follows edges backwards, as neighbourhoods do; out forwards, as walks do.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed draws the same sample.")] = None,
    type: Annotated[str | None, typer.Option(metavar="NODE_TYPE", help="Data sets: the type of the nodes.")] = None,
    json: JsonOption = False,
) -> int:
    """Look at one neighbourhood of a graph, or at walks through it."""
    if walk is not None and fanouts is not None:
        raise ValueError("--fanouts is about neighbourhoods; leave it out, or leave out --walk")
    for name, value in (("--walks", walks), ("--p", p), ("--q", q)):
        if walk is None and value is not None:
            raise ValueError(f"{name} is about walks; add --walk LENGTH, or leave it out")
    side = cast(Direction, direction if direction is not None else "in" if walk is None else "out")
    as_direction(side)
    with _opened(os.fspath(path)) as data:
        _check_indexes(data, side)
        kind = _node_type(data, type)
        ids = [_node_id(data, kind, text) for text in nodes]
        drawn = as_seed(None) if seed is None else seed
        if walk is None:
            hops = _hops(_FANOUTS if fanouts is None else fanouts)
            document, lines = _neighborhood(data, kind, ids, hops, side, drawn)
        else:
            document, lines = _walks(
                data,
                kind,
                ids,
                walk,
                1 if walks is None else walks,
                1 if p is None else p,
                1 if q is None else q,
                side,
                drawn,
            )
        if json:
            print_json({"path": data.path, "seed": drawn, "direction": side} | document)
        else:
            print_lines(f"{data.path}, seed {drawn}", lines)
    return 0


def _opened(name: str) -> gz.Graph | gz.Dataset:
    if os.path.isdir(name):
        return gz.open(name)
    if is_features(name) or is_ids(name):
        held = "features" if is_features(name) else "ids"
        raise ValueError(f"{name}: expected a .gl file or a data set folder, found {held}")
    graph = gz.Graph(name)
    if graph.bipartite:
        graph.close()
        raise ValueError(f"{name}: joins two types of node; give the data set folder it belongs to, and --type")
    return graph


def _check_indexes(data: gz.Graph | gz.Dataset, direction: Direction) -> None:
    graphs = [data] if isinstance(data, gz.Graph) else [edge.graph for edge in data.edges.values()]
    for graph in graphs:
        if direction not in graph.indexes:
            raise ValueError(
                f"{graph.path}: has no '{direction}' index; add --direction {graph.indexes[0]}, or write the graph "
                f"with both"
            )


def _node_type(data: gz.Graph | gz.Dataset, given: str | None) -> str:
    if isinstance(data, gz.Graph):
        if given is not None:
            raise ValueError(f"--type is about data set folders, and {data.path} is a graph; leave it out")
        return NODE
    there = ", ".join(data.node_types)
    if given is None and len(data.nodes) > 1:
        raise ValueError(f"{data.path}: has several node types; add --type with one of {there}")
    if given is not None and given not in data.nodes:
        raise ValueError(f"--type: expected one of {there}, found {given!r}")
    return data.node_types[0] if given is None else given


def _node_id(data: gz.Graph | gz.Dataset, kind: str, text: str) -> int:
    """Read a node id; what is no number is looked up in the data set's id dictionary."""
    labels = data.nodes[kind].ids if isinstance(data, gz.Dataset) else None
    count = data.nodes[kind].num_nodes if isinstance(data, gz.Dataset) else data.num_nodes
    if text.isdecimal() and int(text) < count:
        return int(text)
    if labels is not None and labels.kind == "string" and not text.isdecimal():
        if text not in labels:
            raise ValueError(f"NODE: expected a label of {labels.path} or an id below {count}, found {text!r}")
        return labels.index(text)
    raise ValueError(f"NODE: expected an id below {count}, the number of nodes, found {text!r}")


def _hops(text: str) -> list[int]:
    try:
        return [int(fanout) for fanout in text.split(",")]
    except ValueError:
        raise ValueError(f"--fanouts: expected a number per hop such as {_FANOUTS}, found {text!r}") from None


def _neighborhood(
    data: gz.Graph | gz.Dataset, kind: str, ids: list[int], fanouts: list[int], direction: Direction, seed: int
) -> tuple[dict[str, Any], list[str]]:
    """Return a sample for programs, and in lines."""
    several = isinstance(data, gz.Dataset) and data.is_hetero
    found = gz.sample_neighbors(
        cast(Any, data), {kind: ids} if several else ids, fanouts, direction=direction, seed=seed
    )
    fields = ("node", "row", "col", "edge", "num_sampled_nodes", "num_sampled_edges")
    document = {"fanouts": fanouts} | {field: _listed(getattr(found, field)) for field in fields}
    if not several:
        triple = (kind, "to", kind)
        found = HeteroNeighborhood(
            {kind: found.node}, {triple: found.row}, {triple: found.col}, {triple: found.edge}, None,
            {kind: found.num_sampled_nodes}, {triple: found.num_sampled_edges},
        )  # fmt: skip
    return document, _hop_lines(data, found, len(fanouts), direction)


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return text_keys({key: _listed(item) for key, item in value.items()})
    return value.tolist() if isinstance(value, np.ndarray) else value


def _hop_lines(
    data: gz.Graph | gz.Dataset, found: HeteroNeighborhood, num_hops: int, direction: Direction
) -> list[str]:
    """Tell hop by hop which node drew which neighbours."""
    assert found.num_sampled_edges is not None
    width, height = terminal_size()
    most = (
        None if height is None else max(3, (height - 4) // num_hops - 2)
    )  # title, totals, prompt; a hop's head and rest
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
            lines.append(f"    … {_count(left, 'more node')} with neighbours")
    nodes = sum(map(len, found.node.values()))
    return [*lines, f"  {_count(nodes, 'node')}, {_count(sum(map(len, found.row.values())), 'edge')}"]


def _by_near_node(
    found: HeteroNeighborhood, triple: EdgeTriple, drawn: slice, direction: Direction
) -> list[tuple[int, IntArray]]:
    """Return each node that drew edges of a type in a hop, with the neighbours it drew."""
    near, far = found.row[triple][drawn], found.col[triple][drawn]
    near_type, far_type = triple[0], triple[2]
    if direction == "in":
        near, far, near_type, far_type = far, near, far_type, near_type
    begins = np.flatnonzero(np.diff(near, prepend=-1))
    neighbors = np.split(found.node[far_type][far], begins[1:])
    return list(zip(found.node[near_type][near[begins]].tolist(), neighbors, strict=False))  # none split into one part


def _group_line(
    data: gz.Graph | gz.Dataset, triple: EdgeTriple, near: int, far: IntArray, direction: Direction, width: int | None
) -> str:
    near_type, far_type = (triple[2], triple[0]) if direction == "in" else (triple[0], triple[2])
    arrow = "←" if direction == "in" else "→"
    start = f"{_node_texts(data, near_type, [near])[0]} {arrow} "
    if isinstance(data, gz.Dataset) and data.is_hetero:
        start = f"{near_type} {start}{triple[1]} {arrow} {far_type} "
    return _fitted(data, far_type, far, f"    {start}", ", ", width)


def _walks(
    data: gz.Graph | gz.Dataset,
    kind: str,
    ids: list[int],
    length: int,
    walks: int,
    p: float,
    q: float,
    direction: Direction,
    seed: int,
) -> tuple[dict[str, Any], list[str]]:
    """Return walks for programs, and in lines."""
    if isinstance(data, gz.Dataset) and data.is_hetero:
        single = ", ".join(edge.graph.path for edge in data.edges.values() if edge.name[0] == edge.name[2])
        raise ValueError(
            f"{data.path}: --walk follows edges of one type between nodes of one type; give the .gl file of such a "
            f"type instead of the folder: {single or 'there is none'}"
        )
    steps_in_all = len(ids) * walks * length
    if steps_in_all > _MOST_STEPS:
        raise ValueError(
            f"--walk: expected at most {_MOST_STEPS:,} steps in all, found {steps_in_all:,}; walk less, or use "
            f"graphzero.random_walk in Python"
        )
    graph = data.graph if isinstance(data, gz.Dataset) else data
    starts = np.repeat(np.array(ids, dtype=np.int64), walks)
    walked = gz.random_walk(graph, starts, length, p=p, q=q, direction=direction, seed=seed)
    width, height = terminal_size()
    room = len(walked) if height is None else max(3, height - 4)  # title, rest, totals, prompt
    arrow = "←" if direction == "in" else "→"
    lines = []
    for nodes in walked[:room]:
        stuck = graph.degree(nodes[-1:], direction)[0] == 0
        steps = nodes[: int(np.argmax(nodes == nodes[-1])) + 1] if stuck else nodes
        end = f", which has no edges {direction}" if stuck else ""
        lines.append(_fitted(data, kind, steps, "  ", f" {arrow} ", None if width is None else width - len(end)) + end)
    if len(walked) > room:
        lines.append(f"  … {_count(len(walked) - room, 'more walk')}")
    lines.append(f"  {_count(len(walked), 'walk')} of {_count(length, 'step')}")
    return {"p": float(p), "q": float(q), "walks": walked.tolist()}, lines


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
