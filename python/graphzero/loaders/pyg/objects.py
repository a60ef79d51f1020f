"""PyG's ``Data`` and ``HeteroData`` as the data of a loader: edges are sampled from files, rows stay where they are."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from graphzero._base.argument_errors import type_error
from graphzero._inputs.attributes import Attributes
from graphzero._inputs.edge_types import as_relations
from graphzero.convert.edge_sources.sparse_tensors import edges_of_adj_t
from graphzero.dataset import EDGE, NODE, EdgeTriple, TypeName
from graphzero.features import FeatureStore
from graphzero.graph import Direction
from graphzero.loaders._batch.late_rows import Key, MemoryRows, UnstoredValues
from graphzero.loaders._data.graph_data import GraphData, chosen
from graphzero.loaders._data.temporary_dataset import Edges, TemporaryDataset, Topology

# What a batch has of its own.
_OF_SAMPLE = ("edge_index", "adj_t", "num_nodes")


def is_pyg_object(value: Any) -> bool:
    """Return whether it is a ``Data`` or a ``HeteroData``, without loading PyG."""
    pyg = sys.modules.get("torch_geometric.data")
    return pyg is not None and isinstance(value, (pyg.Data, pyg.HeteroData))


@dataclass(frozen=True)
class ObjectData(GraphData):
    """An object of PyG, whose attributes a user may assign and delete."""

    given: Any = None
    files: TemporaryDataset | None = None
    features: Any = None
    edge_features: Any = None
    state: tuple[Any, ...] = ()

    @property
    def edge_devices(self) -> dict[EdgeTriple, Any]:
        stores = self.given.edge_stores if self.is_hetero else [self.given._store]
        pairs = {store._key or EDGE: store.get("edge_index") for store in stores}
        return {of: ends.device for of, ends in pairs.items() if ends is not None and ends.device.type != "cpu"}

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_object, (self.given, self.files, self.features, self.edge_features)

    def refreshed(self) -> GraphData:
        assert self.files is not None
        if _state(self.given) == self.state:
            return self
        return _of_object(self.given, self.files, self.features, self.edge_features)

    def empty_batch(self) -> Any:
        batch = copy.copy(self.given)
        for store in batch.stores:
            for name in list(store.keys()):
                del store[name]
        return batch

    def stores_of(self, node_type: str) -> dict[str, FeatureStore]:
        assert self.files is not None
        return dict(self.files.dataset.nodes[node_type].attributes)

    def split(self, name: str, of: TypeName, argument: str) -> NDArray[np.int64]:
        raise type_error(
            argument,
            f"expected ids or a mask, such as data.{name}_mask, found {name!r}; splits have names in data "
            "sets only (graphzero.convert_dataset)",
        )


def object_data(
    given: Any, features: Any, edge_features: Any, weight: str | None, time: str | None, direction: Direction
) -> GraphData:
    """Write the edges of an object to files, and read the rest."""
    files = TemporaryDataset(given, _topology(given, weight, time), direction)
    return _of_object(given, files, features, edge_features)


def _of_object(given: Any, files: TemporaryDataset, features: Any, edge_features: Any) -> GraphData:
    unstored = _unstored(given, features, edge_features)
    own = (given, files, features, edge_features, _state(given))
    return ObjectData(files.dataset, as_relations(files.dataset), Attributes(), unstored, *own)


def _is_hetero(given: Any) -> bool:
    return hasattr(given, "edge_types")


def _stores(given: Any) -> Iterator[tuple[TypeName | None, Any]]:
    """Iterate over the parts of an object with their types; ``None`` is of no type."""
    if not _is_hetero(given):
        yield None, given._store
        return
    yield None, given._global_store
    for store in (*given.node_stores, *given.edge_stores):
        yield store._key, store


def _state(given: Any) -> tuple[Any, ...]:
    return tuple((of, name, id(value)) for of, store in _stores(given) for name, value in store.items())


def _unstored(given: Any, features: Any, edge_features: Any) -> UnstoredValues:
    """Find out what an object has of nodes, of edges, and of neither."""
    rows: dict[Key, Any] = {}
    other: dict[TypeName | None, dict[str, Any]] = {}
    for of, store in _stores(given):
        for name, value in store.items():
            if name == "adj_t" and "edge_weight" not in store:
                values = edges_of_adj_t(value, "adj_t")[2]
                if values is not None and values.ndim == 1:
                    rows[of or EDGE, "edge_weight"] = (values, 0)
            if name in _OF_SAMPLE:
                continue
            kind = _kind(of, store, name, is_hetero=_is_hetero(given))
            if kind is None:
                other.setdefault(of, {})[name] = value
            else:
                dim = given.__cat_dim__(name, value, store)
                rows[kind, name] = (value, 0 if dim is None else dim)

    def names(is_edge: bool) -> set[str]:
        own = {name for of, name in rows if isinstance(of, tuple) == is_edge}
        return own | {name for of, values in other.items() if isinstance(of, tuple) == is_edge for name in values}

    shown = {
        False: chosen(features, names(is_edge=False), "features"),
        True: chosen(edge_features, names(is_edge=True), "edge_features"),
    }
    return UnstoredValues(
        MemoryRows(rows),
        [(of, name) for of, name in rows if name in shown[isinstance(of, tuple)]],
        {
            of: {name: value for name, value in values.items() if name in shown[isinstance(of, tuple)]}
            for of, values in other.items()
        },
        [str(of or NODE) for of, store in _stores(given) if "num_nodes" in store],
    )


def _kind(of: TypeName | None, store: Any, name: str, *, is_hetero: bool) -> TypeName | None:
    """Return the type that an attribute has a row for each node or edge of, by PyG's own rules."""
    if is_hetero and of is None:
        return None
    if not isinstance(of, tuple) and store.is_node_attr(name):
        return of or NODE
    if not isinstance(of, str) and store.is_edge_attr(name):
        return of or EDGE
    return None


def _topology(given: Any, weight: str | None, time: str | None) -> Topology:
    if not _is_hetero(given):
        store = given._store
        is_node_time = time is not None and time in store and store.is_node_attr(time)
        edges = _edges(store, "data", weight, None if is_node_time else time)
        times = {NODE: {str(time): store[time]}} if is_node_time else {}
        return Topology({NODE: int(given.num_nodes)}, {EDGE: edges}, times)
    timed = [store for store in given.node_stores if time is not None and time in store]
    num_nodes = {}
    for store in given.node_stores:
        if store.num_nodes is None:
            raise ValueError(
                f"data[{store._key!r}]: expected num_nodes, or a tensor with a row per node, found neither"
            )
        num_nodes[store._key] = int(store.num_nodes)
    by_type: dict[EdgeTriple, Edges] = {
        store._key: _edges(store, f"data{list(store._key)}", weight, None if timed else time)
        for store in given.edge_stores
    }
    times = {store._key: {str(time): store[time]} for store in timed}
    return Topology(num_nodes, by_type, times, hetero=True)


def _edges(store: Any, name: str, weight: str | None, time: str | None) -> Edges:
    pairs = store.get("edge_index")
    if pairs is None and "adj_t" in store:
        src, dst, values = edges_of_adj_t(store["adj_t"], f"{name}: adj_t")
        return Edges(
            src, dst, values if weight is not None and weight not in store else store.get(weight), store.get(time)
        )
    if pairs is None:
        pairs = torch.empty((2, 0), dtype=torch.int64)
    pairs = pairs.detach().as_subclass(torch.Tensor).cpu()
    return Edges(pairs[0], pairs[1], store.get(weight), store.get(time))
