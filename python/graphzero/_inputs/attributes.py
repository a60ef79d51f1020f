"""The attributes of nodes and edges that batches come with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from graphzero._base.dtypes import as_data_type
from graphzero._dataset.named_tensors import take_edits
from graphzero._inputs.edge_types import Relations, as_triple
from graphzero.dataset import Dataset, EdgeTriple
from graphzero.features import FeatureStore


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
    """Return the attributes of a data set that are wanted by name; all for ``None``."""
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
