"""The nodes and links that batches are made for: ids, masks, splits, times, and what stands for each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.arrays import IntArray, as_numpy, int64_vector, time_vector
from graphzero._dataset.all_edges import all_edges, some_edges
from graphzero._inputs.edge_types import Relations, link_type_of
from graphzero.dataset import Dataset, EdgeTriple, TypeName


@dataclass(frozen=True)
class NodeSeeds:
    """Nodes of one type, with a time for each if samples respect times. Without ids they are all nodes."""

    node_type: str
    ids: IntArray | None
    times: IntArray | None = None


@dataclass(frozen=True)
class LinkSeeds:
    """Links of one edge type, which need not be one of the graph's, with a time for each if samples respect times."""

    edge_type: EdgeTriple
    src: IntArray
    dst: IntArray
    times: IntArray | None = None


class Splits:
    """The named splits of a data set, of which graphs and stores have none."""

    def split(self, name: str, of: TypeName, argument: str) -> IntArray:
        """Return the ids of a split. ``argument`` opens the error message."""
        expected = "node ids" if isinstance(of, str) else "(src, dst)"
        raise type_error(argument, f"expected {expected}, found {name!r}; splits have names in data sets only")

    @property
    def split_names(self) -> list[str]:
        """The names of a data set's splits."""
        return []

    def types_with_split(self, name: str, types: Iterable[Any]) -> list[Any]:
        """Return those of some node types or edge types that have such a split."""
        return []


class DatasetSplits(Splits):
    """Those of ``dataset``."""

    dataset: Dataset

    def split(self, name: str, of: TypeName, argument: str) -> IntArray:
        return self.dataset.split(name, of, writable=False)

    @property
    def split_names(self) -> list[str]:
        return self.dataset.split_names

    def types_with_split(self, name: str, types: Iterable[Any]) -> list[Any]:
        return [of for of in types if self.dataset.has_split(name, of)]


def splits_of(graph: Any) -> Splits:
    """Return the splits of what a user samples from."""
    if not isinstance(graph, Dataset):
        return Splits()
    splits = DatasetSplits()
    splits.dataset = graph
    return splits


def read_nodes(given: Any, relations: Relations, splits: Splits, name: str) -> tuple[str, IntArray | None, bool]:
    """Return node type, ids (``None``: all nodes of it), and whether they were given as a mask.

    ``given`` are ids, a mask, or the name of a split, alone or behind the node type: ``("paper", ids)``, also as a
    dict; or a node type alone. ``name`` opens the error messages.
    """
    types = relations.node_types
    node_type = types[0]
    if isinstance(given, Mapping):
        if len(given) != 1:
            raise value_error(name, f"expected ids of one node type, found {list(given)}")
        node_type, given = next(iter(given.items()))
    elif isinstance(given, (tuple, list)) and len(given) == 2 and isinstance(given[0], str):
        node_type, given = given
    elif isinstance(given, str) and given in types and (relations.is_hetero or given not in splits.split_names):
        node_type, given = given, None
    elif isinstance(given, str) and relations.is_hetero:
        node_type = _type_of_split(given, "node type", types, splits, name)
    elif len(types) > 1:
        found = given if given is None else type(given).__name__
        raise value_error(name, f"expected a node type, or (node type, ids), with one of {types}, found {found}")
    if node_type not in types:
        raise value_error(name, f"no node type {node_type!r}; there are {types}")
    if given is None:
        return node_type, None, False
    if isinstance(given, str):
        return node_type, splits.split(given, node_type, name), False
    ids, count = as_numpy(given, name), relations.num_nodes[node_type]
    if ids.dtype != np.bool_:
        return node_type, int64_vector(ids, name), False
    if ids.shape != (count,):
        raise value_error(name, f"expected a mask of {count} nodes, found {ids.shape}")
    return node_type, np.flatnonzero(ids).astype(np.int64, copy=False), True


def read_links(given: Any, relations: Relations, splits: Splits, name: str) -> tuple[EdgeTriple, IntArray, IntArray]:
    """Return edge type, sources and destinations.

    ``given`` is ``(src, dst)``, or the name of a split, alone or behind the edge type, which may be any between two
    node types; or an edge type of the graph alone, or ``None``, which are all its edges, at 16 bytes each. ``name``
    opens the error messages.
    """
    types = list(relations.graphs)
    triple = relations.edge_type
    if isinstance(given, (tuple, list)) and len(given) in (2, 3):
        if all(isinstance(part, str) for part in given):
            triple, given = link_type_of(given, relations, name), None
        elif isinstance(given[0], (tuple, list)) and all(isinstance(part, str) for part in given[0]) and given[0]:
            triple, given = link_type_of(given[0], relations, name), given[1]
        elif given[0] is None:  # as PyG's stores write it
            given = given[1]
        elif len(types) != 1 and relations.is_hetero:
            raise value_error(
                name, f"expected (edge type, (src, dst)) with one of {types}, or one between {relations.node_types}"
            )
    elif isinstance(given, str):
        triple = types[0] if len(types) == 1 else _type_of_split(given, "edge type", types, splits, name)
    elif relations.is_hetero:
        raise value_error(name, f"expected an edge type, or (edge type, (src, dst)), with one of {types}")
    if given is None or isinstance(given, str):
        if triple not in types:
            pairs = f"({triple}, (src, dst))" if relations.is_hetero else "(src, dst)"
            raise value_error(name, f"no edge type {triple}; there are {types}; expected pairs, {pairs}")
        graph = relations.graphs[triple]
        if given is None:
            return triple, *all_edges(graph, name)
        return triple, *some_edges(graph, splits.split(given, triple, name), name)
    if not hasattr(given, "__len__") or len(given) != 2:
        raise type_error(name, f"expected (src, dst), found {type(given).__name__}")
    src, dst = int64_vector(given[0], f"{name}[0]"), int64_vector(given[1], f"{name}[1]")
    if len(src) != len(dst):
        raise value_error(name, f"expected as many destinations as sources, found {len(dst)} for {len(src)}")
    check_nodes(src, relations.num_nodes[triple[0]], f"{name}[0]")
    check_nodes(dst, relations.num_nodes[triple[2]], f"{name}[1]")
    return triple, src, dst


def _type_of_split(split: str, kind: str, types: list[Any], splits: Splits, name: str) -> Any:
    """Return the one type that has such a split."""
    having = splits.types_with_split(split, types)
    if len(having) == 1:
        return having[0]
    article, what = ("a", "ids") if kind == "node type" else ("an", "(src, dst)")
    raise value_error(
        name,
        f"expected {article} {kind}, a split that one {kind} has, or ({kind}, {what}), found {split!r}; there "
        f"are the {kind}s {types} and the splits {splits.split_names}",
    )


def refuse_without_edges(relations: Relations, triple: EdgeTriple, needing: Mapping[str, bool]) -> None:
    """Refuse options, given by name, that need the edges of a type that there are none of."""
    wanted = [name for name, value in needing.items() if value]
    if wanted and triple not in relations.graphs:
        raise ValueError(f"{wanted[0]}: no edges of {triple} to exclude or count; there are {list(relations.graphs)}")


def by_node_type(values: Any, relations: Relations, name: str) -> dict[str, Any]:
    """Return what belongs to each node type."""
    if values is None:
        return {}
    if not relations.is_hetero:
        return {relations.node_types[0]: values}
    if not isinstance(values, Mapping):
        raise type_error(name, f"expected a dict by node type, found {type(values).__name__}")
    unknown = [key for key in values if key not in relations.num_nodes]
    if unknown:
        raise value_error(name, f"no node type {unknown[0]!r}; there are {relations.node_types}")
    return dict(values)


def read_node_times(given: Any, relations: Relations) -> dict[str, IntArray]:
    """Return the times of all nodes, of the node types that have some."""
    values = by_node_type(given, relations, "node_time")
    times = {kind: time_vector(of_kind, "node_time") for kind, of_kind in values.items()}
    for kind, found in times.items():
        if len(found) != relations.num_nodes[kind]:
            raise value_error(
                "node_time", f"expected {relations.num_nodes[kind]} times, one per node, found {len(found)}"
            )
    return times


def check_nodes(ids: IntArray, num_nodes: int, name: str) -> None:
    """Refuse ids of nodes that are not there."""
    if len(ids) and not (ids.min() >= 0 and ids.max() < num_nodes):
        at = int(np.argmax((ids < 0) | (ids >= num_nodes)))
        raise IndexError(f"{name}[{at}]: node {ids[at]} is not in the graph, which has {num_nodes} nodes")


def seed_times(given: Any, count: int, name: str) -> IntArray:
    """Read the times of seeds."""
    times = time_vector(given, name)
    if len(times) != count:
        raise value_error(name, f"expected {count} times, one per seed, found {len(times)}")
    return times


def input_ids(given: Any, count: int) -> IntArray | None:
    """Read what stands for each seed."""
    if given is None:
        return None
    ids = int64_vector(given, "input_id")
    if len(ids) != count:
        raise value_error("input_id", f"expected {count}, one per seed, found {len(ids)}")
    return ids
