"""What a pipeline is given: seeds or links, and the attributes that come with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphzero.arrays import int64_vector, time_vector
from graphzero.dataset import Dataset, EdgeTriple
from graphzero.dtypes import as_data_type
from graphzero.features import FeatureStore
from graphzero.named_tensors import take_edits
from graphzero.relations import Relations, as_triple
from graphzero.sampling import IntArray, by_node_type


@dataclass(frozen=True)
class Attribute:
    """A store and what its rows belong to: a node type, or an edge type."""

    name: str
    of: str | EdgeTriple
    store: FeatureStore


class Attributes(list[Attribute]):
    """Attributes of nodes and edges that have been read."""


def attributes_of(graph: Any, relations: Relations, features: Any, edge_features: Any) -> Attributes:
    """Read a user's ``features`` and ``edge_features``, unless ``features`` are attributes already."""
    if isinstance(features, Attributes):
        return features
    if isinstance(graph, Dataset):
        take_edits(graph)
        assigned: list[tuple[str, Any, Any]] = []
        assigned += [(name, of, features) for of, node in graph.nodes.items() for name in node.in_memory]
        assigned += [(name, triple, edge_features) for triple, edge in graph.edges.items() for name in edge.in_memory]
        for name, owner, wanted in assigned:
            if wanted is None or name in wanted:
                raise ValueError(
                    f"{name} of {owner!r} was assigned, and is in memory: expected attributes of files; use a loader, "
                    "which has both, or name those of files"
                )
        of_nodes = [Attribute(name, of, kind[name]) for of, kind in graph.nodes.items() for name in kind.attributes]
        of_edges = [Attribute(name, of, kind[name]) for of, kind in graph.edges.items() for name in kind.attributes]
        return Attributes(_chosen(of_nodes, features, "features") + _chosen(of_edges, edge_features, "edge_features"))
    nodes = _named_stores(features, relations, relations.node_types, "features", "x")
    edges = _named_stores(edge_features, relations, list(relations.graphs), "edge_features", "edge_attr")
    return Attributes(nodes + edges)


def _named_stores(given: Any, relations: Relations, types: list[Any], what: str, alone: str) -> list[Attribute]:
    if given is None:
        return []
    by_type = given if relations.is_hetero else {types[0]: given}
    if not isinstance(by_type, Mapping):
        raise TypeError(f"{what}: expected a dict by type, found {type(by_type).__name__}")
    found = []
    for key, stores in by_type.items():
        of = as_triple(key) if isinstance(types[0], tuple) else key
        if of not in types:
            raise ValueError(f"{what}: no type {of!r}; there are {types}")
        named_stores = {alone: stores} if isinstance(stores, FeatureStore) else stores
        if not isinstance(named_stores, Mapping):
            raise TypeError(f"{what}: expected a FeatureStore, or a dict of them by name, found {stores!r}")
        for name, store in named_stores.items():
            if not isinstance(store, FeatureStore):
                raise TypeError(f"{what}[{name!r}]: expected a FeatureStore, found {type(store).__name__}")
            found.append(Attribute(str(name), of, store))
    return found


def _chosen(there: list[Attribute], wanted: Any, what: str) -> list[Attribute]:
    """Return those of a data set's attributes that are wanted by name; ``None``: all of them."""
    if wanted is None:
        return there
    names = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(names, (list, tuple, set)) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{what}: expected names of the data set's attributes, found {wanted!r}")
    check_names(names, there, what)
    return [attribute for attribute in there if attribute.name in names]


def check_names(names: Iterable[str], there: list[Attribute], what: str) -> None:
    """Refuse a name that no attribute has."""
    known = sorted({attribute.name for attribute in there})
    for name in names:
        if name not in known:
            raise KeyError(f"{what}: no attribute {name!r}; there are {known}")


def wanted_dtype(attribute: Attribute, dtype: Any) -> Any:
    """Return what the rows of an attribute become, or ``None`` if they stay as they are stored."""
    store = attribute.store
    if isinstance(dtype, Mapping):
        given = dtype.get(attribute.name)
        return None if given is None else as_data_type(given)
    if dtype is None:
        return None
    is_float = store.quantised or "float" in store.dtype
    return as_data_type(dtype) if is_float else None


def _ids_or_mask(seeds: Any, count: int, name: str) -> IntArray:
    mask = np.asarray(seeds) if str(getattr(seeds, "dtype", "")) in ("bool", "torch.bool") else None
    if mask is None:
        return int64_vector(seeds, name)
    if mask.shape != (count,):
        raise ValueError(f"{name}: expected a mask of {count} nodes, found {mask.shape}")
    return np.flatnonzero(mask).astype(np.int64, copy=False)


def _is_triple(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and len(value) == 3 and all(isinstance(part, str) for part in value)


def node_seeds(
    graph: Any, relations: Relations, seeds: Any, seed_time: Any
) -> tuple[int, IntArray | None, IntArray | None]:
    """Return type, ids and times of the nodes that batches are made of; without ids it is all nodes."""
    names = relations.node_types
    name = names[0]
    if isinstance(seeds, Mapping):
        if len(seeds) != 1:
            raise ValueError(f"seeds: expected ids of one node type, found {list(seeds)}")
        name, seeds = next(iter(seeds.items()))
    elif isinstance(seeds, tuple) and len(seeds) == 2 and isinstance(seeds[0], str):
        name, seeds = seeds
    elif isinstance(seeds, str) and seeds in names and not isinstance(graph, Dataset):
        name, seeds = seeds, None
    elif len(names) > 1:
        raise ValueError(f"seeds: expected (node type, ids) with one of {names}, found {type(seeds).__name__}")
    if name not in names:
        raise ValueError(f"seeds: no node type {name!r}; there are {names}")
    if isinstance(seeds, str):
        if not isinstance(graph, Dataset):
            raise TypeError(f"seeds: expected node ids, found {seeds!r}; splits have names in data sets only")
        seeds = graph.split(seeds, name, writable=False)
    ids = None if seeds is None else _ids_or_mask(seeds, relations.num_nodes[name], "seeds")
    times = None if seed_time is None else time_vector(seed_time, "seed_time")
    return names.index(name), ids, times


def link_seeds(
    relations: Relations, links: Any, seed_time: Any, needing: Mapping[str, bool]
) -> tuple[int, int, int | None, IntArray, IntArray, IntArray | None]:
    """Return both node types, relation, sources, destinations and times of the links that batches are made of.

    A type between two node types that is none of the graph's has no relation; ``needing`` are the options, by name,
    that cannot do without one.
    """
    triples, kinds = list(relations.graphs), relations.node_types
    triple = relations.edge_type
    if isinstance(links, tuple) and len(links) == 2 and _is_triple(links[0]):
        triple, links = as_triple(links[0]), links[1]
    elif len(triples) > 1 or (relations.is_hetero and not triples):
        raise ValueError(f"links: expected (edge type, (src, dst)) with one of {triples}, or one between {kinds}")
    if triple[0] not in kinds or triple[2] not in kinds:
        raise ValueError(f"links: no edge type {triple}; there are {triples}, and the node types {kinds}")
    refuse_without_edges(relations, triple, needing)
    if not hasattr(links, "__len__") or len(links) != 2:
        raise TypeError(f"links: expected (src, dst), found {type(links).__name__}")
    times = None if seed_time is None else time_vector(seed_time, "seed_time")
    src, dst = int64_vector(links[0], "links[0]"), int64_vector(links[1], "links[1]")
    relation = triples.index(triple) if triple in triples else None
    return kinds.index(triple[0]), kinds.index(triple[2]), relation, src, dst, times


def refuse_without_edges(relations: Relations, triple: EdgeTriple, needing: Mapping[str, bool]) -> None:
    """Refuse options, given by name, that need the edges of a type that there are none of."""
    wanted = [name for name, value in needing.items() if value]
    if wanted and triple not in relations.graphs:
        raise ValueError(f"{wanted[0]}: no edges of {triple} to exclude or count; there are {list(relations.graphs)}")


def node_types(relations: Relations, node_time: Any, seed_time: Any) -> list[Any]:
    """Return the number of nodes of each type, and their times."""
    if node_time is not None and seed_time is None:
        raise ValueError("node_time: expected seed_time with it: node times are compared with those of the seeds")
    given = by_node_type(node_time, relations, "node_time")
    result: list[Any] = []
    for name, count in relations.num_nodes.items():
        times = None
        if name in given:
            times = time_vector(given[name], "node_time")
            if len(times) != count:
                raise ValueError(f"node_time: expected {count} times, one per node, found {len(times)}")
        result.append((count, times))
    return result
