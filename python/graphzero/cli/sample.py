"""``graphzero sample``: show one neighbourhood, or walks. docs/guide/command-line.md lists the JSON."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

import graphzero as gz
from graphzero._base.integers import as_seed
from graphzero.cli.console import JsonOption, print_json, print_lines, text_keys
from graphzero.cli.fanouts import FANOUTS, read_fanouts

if TYPE_CHECKING:
    from graphzero._base.arrays import IntArray
    from graphzero.graph import Direction

_FIELDS = ("node", "row", "col", "edge", "num_sampled_nodes", "num_sampled_edges")
_MOST_STEPS = 10_000_000  # more than anyone reads, and 80 MB


def sample(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A .gl file or a data set folder.", show_default=False)],
    nodes: Annotated[
        list[str], typer.Argument(metavar="NODE", help="Node ids, or labels of the data set.", show_default=False)
    ],
    fanouts: Annotated[
        str | None, typer.Option(help=f"Neighbours to draw per node at each hop, -1 for all. Default: {FANOUTS}.")
    ] = None,
    walk: Annotated[
        int | None, typer.Option(metavar="LENGTH", min=1, help="Draw walks of this length instead.")
    ] = None,
    walks: Annotated[int | None, typer.Option(min=1, help="Walks from each node. Default: 1.")] = None,
    p: Annotated[float | None, typer.Option(help="Walks: node2vec's p. Default: 1.")] = None,
    q: Annotated[float | None, typer.Option(help="Walks: node2vec's q. Default: 1.")] = None,
    direction: Annotated[
        str | None, typer.Option(help="in follows edges backwards, out forwards. Default: in, and out for walks.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed draws the same sample.")] = None,
    type: Annotated[str | None, typer.Option(metavar="NODE_TYPE", help="Data sets: the type of the nodes.")] = None,
    json: JsonOption = False,
) -> int:
    """Show one neighbourhood of a graph, or walks through it."""
    from graphzero.cli.sample_lines import hop_lines, walk_lines
    from graphzero.graph import as_direction

    if walk is not None and fanouts is not None:
        raise ValueError("--fanouts is about neighbourhoods; leave it out, or leave out --walk")
    for name, value in (("--walks", walks), ("--p", p), ("--q", q)):
        if walk is None and value is not None:
            raise ValueError(f"{name} is about walks; add --walk LENGTH, or leave it out")
    side = cast("Direction", direction if direction is not None else "in" if walk is None else "out")
    as_direction(side)
    with _opened(os.fspath(path)) as data:
        _check_indexes(data, side)
        kind = _node_type(data, type)
        ids = [_node_id(data, kind, text) for text in nodes]
        drawn = as_seed(None) >> 32 if seed is None else seed  # short enough to be typed again, and exact in any JSON
        common = {"path": data.path, "seed": drawn, "direction": side}
        if walk is None:
            hops = read_fanouts(FANOUTS if fanouts is None else fanouts)
            seeds: Any = {kind: ids} if isinstance(data, gz.Dataset) and data.is_hetero else ids
            found = gz.sample_neighbors(cast(Any, data), seeds, hops, direction=side, seed=drawn)
            if json:
                print_json(common | {"fanouts": hops} | {field: _listed(getattr(found, field)) for field in _FIELDS})
            else:
                print_lines(f"{data.path}, seed {drawn}", hop_lines(data, kind, found, len(hops), side))
        else:
            graph = _only_graph(data)
            starts = _starts(ids, 1 if walks is None else walks, walk)
            biases = {"p": 1.0 if p is None else p, "q": 1.0 if q is None else q}
            walked = gz.random_walk(graph, starts, walk, p=biases["p"], q=biases["q"], direction=side, seed=drawn)
            if json:
                print_json(common | biases | {"walks": walked.tolist()})
            else:
                print_lines(f"{data.path}, seed {drawn}", walk_lines(data, kind, graph, walked, side))
    return 0


def _opened(name: str) -> gz.Graph | gz.Dataset:
    if os.path.isdir(name):
        return gz.open(name)
    from graphzero._dataset.file_kinds import is_features, is_ids

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
    if not graphs:
        raise ValueError(f"{data.path}: has no edges to follow, only nodes")
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
        return "node"
    there = ", ".join(data.node_types)
    if given is None and len(data.nodes) > 1:
        raise ValueError(f"{data.path}: has several node types; add --type with one of {there}")
    if given is not None and given not in data.nodes:
        raise ValueError(f"--type: expected one of {there}, found {given!r}")
    return data.node_types[0] if given is None else given


def _node_id(data: gz.Graph | gz.Dataset, kind: str, text: str) -> int:
    """Read a node id; text that is not a number is looked up in the data set's id dictionary."""
    labels = data.nodes[kind].ids if isinstance(data, gz.Dataset) else None
    count = data.nodes[kind].num_nodes if isinstance(data, gz.Dataset) else data.num_nodes
    if text.isdecimal() and int(text) < count:
        return int(text)
    if labels is not None and labels.kind == "string" and not text.isdecimal():
        if text not in labels:
            raise ValueError(f"NODE: expected a label of {labels.path} or an id below {count}, found {text!r}")
        return labels.index(text)
    raise ValueError(f"NODE: expected an id below {count}, the number of nodes, found {text!r}")


def _only_graph(data: gz.Graph | gz.Dataset) -> gz.Graph:
    """Return the graph that walks go through."""
    if isinstance(data, gz.Graph):
        return data
    if not data.is_hetero:
        return data.graph
    single = ", ".join(edge.graph.path for edge in data.edges.values() if edge.name[0] == edge.name[2])
    raise ValueError(
        f"{data.path}: --walk follows edges of one type between nodes of one type; give the .gl file of such a "
        f"type instead of the folder: {single or 'there is none'}"
    )


def _starts(ids: list[int], walks: int, length: int) -> IntArray:
    steps = len(ids) * walks * length
    if steps > _MOST_STEPS:
        raise ValueError(
            f"--walk: expected at most {_MOST_STEPS:,} steps in all, found {steps:,}; walk less, or use "
            f"graphzero.random_walk in Python"
        )
    import numpy as np

    return np.repeat(np.array(ids, dtype=np.int64), walks)


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return text_keys({key: _listed(item) for key, item in value.items()})
    return value.tolist() if hasattr(value, "tolist") else value
