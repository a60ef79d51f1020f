"""Stores of other classes as the data of a loader: PyG's ``(FeatureStore, GraphStore)``."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch_geometric.data.graph_store import EdgeLayout

from graphzero._base.argument_errors import value_error
from graphzero._inputs.attributes import Attributes
from graphzero._inputs.edge_types import as_relations, as_triple
from graphzero.dataset import EDGE, NODE, EdgeTriple, TypeName
from graphzero.features import FeatureStore
from graphzero.graph import Direction
from graphzero.loaders._batch.late_rows import Key, UnstoredValues
from graphzero.loaders._data.graph_data import GraphData, as_graph_data, chosen
from graphzero.loaders._data.temporary_dataset import Edges, TemporaryDataset, Topology
from graphzero.loaders.pyg.stores import GraphStore, PyGFeatureStore

# Edge ids are places in the stored order; the first of these that a store has gives the edges.
_LAYOUTS = (EdgeLayout.COO, EdgeLayout.CSC, EdgeLayout.CSR)


class StoreRows:
    """Rows of a feature store, of all attributes of a batch by one call."""

    def __init__(self, store: Any, attributes: Mapping[Key, Any]) -> None:
        self._store = store
        self._attributes = dict(attributes)

    def __contains__(self, key: Key) -> bool:
        return key in self._attributes

    def fetch(self, asked: Sequence[tuple[Key, torch.Tensor]]) -> Sequence[Any]:
        """Ask the store for them."""
        return self._tensors(asked)

    def whole(self, keys: Sequence[Key]) -> dict[Key, Any]:
        """Return all rows of those attributes that the store has."""
        there = [key for key in keys if key in self._attributes]
        return dict(zip(there, self._tensors([(key, None) for key in there]), strict=True)) if there else {}

    def _tensors(self, asked: Sequence[tuple[Key, Any]]) -> list[Any]:
        attributes = []
        for key, index in asked:
            attribute = copy.copy(self._attributes[key])
            attribute.index = index
            attributes.append(attribute)
        found = self._store.multi_get_tensor(attributes)
        return [torch.from_numpy(rows) if isinstance(rows, np.ndarray) else rows for rows in found]


@dataclass(frozen=True)
class StoreData(GraphData):
    """A feature store beside graphs, which a graph store had."""

    store: Any = None
    files: Any = None  # a TemporaryDataset, or what a graph store of ours has
    features: Any = None
    edge_features: Any = None
    state: tuple[Any, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_stores, (self.store, self.graph, self.files, self.features, self.edge_features)

    def refreshed(self) -> GraphData:
        if _state(self.store) == self.state:
            return self
        return _of_stores(self.store, self.graph, self.files, self.features, self.edge_features)

    def stores_of(self, node_type: str) -> dict[str, FeatureStore]:
        if isinstance(self.files, TemporaryDataset):
            return dict(self.files.dataset.nodes[node_type].attributes)
        found: dict[str, FeatureStore] = self.files.stores_of(node_type)
        return found


def data_of_stores(
    store: Any,
    graphs: Any,
    features: Any,
    edge_features: Any,
    weight: str | None,
    time: str | None,
    direction: Direction,
) -> GraphData:
    """Return what both stores hold; edges of others are written to files."""
    if isinstance(store, PyGFeatureStore) and isinstance(graphs, GraphStore):
        return _of_ours(store, features, edge_features)
    if isinstance(graphs, GraphStore):
        return _of_stores(store, graphs.data.graph, graphs.data, features, edge_features)
    pairs = _pairs(graphs)
    is_hetero = None not in pairs
    by_type = {as_triple(triple) if is_hetero else EDGE: found for triple, found in pairs.items()}
    num_nodes = _num_nodes(store, by_type)
    edges = {triple: Edges(src, dst) for triple, (src, dst, _) in by_type.items()}
    rows = StoreRows(store, _attributes(store, num_nodes, edges))
    node_times = rows.whole([(kind, str(time)) for kind in num_nodes if time is not None])
    for name, part in ((weight, "weight"), (None if node_times else time, "time")):
        for (triple, _), values in rows.whole([(triple, str(name)) for triple in edges]).items():
            setattr(edges[triple], part, values)  # type: ignore[index]
    times = {str(of): {name: values} for (of, name), values in node_times.items()}
    files = TemporaryDataset(graphs, Topology(num_nodes, edges, times, hetero=is_hetero), direction)
    return _of_stores(store, files.dataset, files, features, edge_features)


def _of_ours(store: PyGFeatureStore, features: Any, edge_features: Any) -> GraphData:
    if store.listed is None and features is None and edge_features is None:
        return store.data
    shown = Attributes()
    for is_edge, wanted, what in ((False, features, "features"), (True, edge_features, "edge_features")):
        there = [one for one in store.data.attributes if isinstance(one.of, tuple) == is_edge]
        names = {one.name for one in there}
        listed = names if store.listed is None else names & set(store.listed)
        shown += [one for one in there if one.name in (listed if wanted is None else chosen(wanted, names, what))]
    return as_graph_data(store.data.graph, features=shown)


def _of_stores(store: Any, graph: Any, files: Any, features: Any, edge_features: Any) -> GraphData:
    relations = as_relations(graph)
    attributes = _attributes(store, relations.num_nodes, relations.graphs)
    of_nodes = chosen(features, {name for of, name in attributes if isinstance(of, str)}, "features")
    of_edges = chosen(edge_features, {name for of, name in attributes if isinstance(of, tuple)}, "edge_features")
    columns = [key for key in attributes if key[1] in (of_edges if isinstance(key[0], tuple) else of_nodes)]
    counted = dict.fromkeys(of for of, _ in columns if isinstance(of, str))
    unstored = UnstoredValues(StoreRows(store, attributes), columns, counted=list(counted))
    own = (store, files, features, edge_features, _state(store))
    return StoreData(graph, relations, Attributes(), unstored, *own)


def _state(store: Any) -> tuple[Any, ...]:
    return tuple((attribute.group_name, attribute.attr_name) for attribute in store.get_all_tensor_attrs())


def _pairs(graphs: Any) -> dict[Any, tuple[Any, Any, Any]]:
    """Return sources, destinations and numbers of nodes by edge type, in the stored order."""
    found: dict[Any, tuple[Any, Any, Any]] = {}
    listed = graphs.get_all_edge_attrs()
    for attribute in sorted(listed, key=lambda one: _LAYOUTS.index(EdgeLayout(one.layout))):
        if attribute.edge_type in found:
            continue
        row, col = (torch.as_tensor(end).cpu() for end in graphs.get_edge_index(attribute))
        if attribute.layout == EdgeLayout.CSR:
            row = _expanded(row)
        elif attribute.layout == EdgeLayout.CSC:
            col = _expanded(col)
        found[attribute.edge_type] = (row, col, attribute.size or (None, None))
    if not found:
        raise value_error("data", f"expected a graph store with edges, found none in {type(graphs).__name__}")
    return {one.edge_type: found[one.edge_type] for one in listed}


def _expanded(offsets: torch.Tensor) -> torch.Tensor:
    return torch.repeat_interleave(torch.arange(len(offsets) - 1), offsets.long().diff())


def _num_nodes(store: Any, by_type: Mapping[EdgeTriple, tuple[Any, Any, Any]]) -> dict[str, int]:
    """Return the numbers of nodes by type: as the edges say, or the features, or else by the largest id."""
    said: dict[str, int] = {}
    for triple, (_, _, size) in by_type.items():
        for kind, count in zip(triple[::2], size, strict=True):
            if count is not None:
                said[kind] = max(said.get(kind, 0), int(count))
    for attribute in store.get_all_tensor_attrs():
        kind = attribute.group_name if EDGE not in by_type else NODE
        if isinstance(kind, str) and kind not in said:
            size = store.get_tensor_size(copy.copy(attribute))
            if size is not None:
                said[kind] = int(size[0])
    largest: dict[str, int] = {}
    for triple, (src, dst, _) in by_type.items():
        for kind, ids in ((triple[0], src), (triple[2], dst)):
            if kind not in said:
                largest[kind] = max(largest.get(kind, 0), int(ids.max()) + 1 if len(ids) else 0)
    return {**said, **largest}


def _attributes(store: Any, num_nodes: Mapping[str, int], edges: Mapping[EdgeTriple, Any]) -> dict[Key, Any]:
    """Return the attributes of a store by what they have rows of."""
    found: dict[Key, Any] = {}
    for attribute in store.get_all_tensor_attrs():
        group = attribute.group_name
        of: Any = tuple(group) if isinstance(group, (tuple, list)) else group
        if EDGE in edges:
            of = _rows_of(store, attribute, num_nodes, edges)
        if of in num_nodes or of in edges:
            found[of, attribute.attr_name] = attribute
    return found


def _rows_of(store: Any, attribute: Any, num_nodes: Mapping[str, int], edges: Mapping[EdgeTriple, Any]) -> TypeName:
    """Return whether rows are of nodes or edges where groups have no types: by their number, then by the name."""
    if isinstance(attribute.group_name, (tuple, list)):
        return EDGE
    num_edges = _count(edges[EDGE])
    size = store.get_tensor_size(copy.copy(attribute))
    count = None if size is None else int(size[0])
    if count == num_edges and (count != num_nodes[NODE] or "edge" in attribute.attr_name):
        return EDGE
    return NODE


def _count(edges: Any) -> int:
    return len(edges.src) if isinstance(edges, Edges) else int(edges.num_input_edges)
