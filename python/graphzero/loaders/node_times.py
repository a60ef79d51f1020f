"""What ``time_attr`` means: times of nodes, or those stored with the edges."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero.arrays import time_vector
from graphzero.features import FeatureStore
from graphzero.loaders.graph_data import GraphData


class NodeTimes:
    """The times of nodes that an attribute has, if there is one of that name; else edges have the times."""

    def __init__(self, data: GraphData, time_attr: str, time_window: int | None) -> None:
        self._data = data
        self._name = time_attr
        for store in self.stores.values():
            _check_times(store)
        for triple, graph in () if self.stores else data.relations.graphs.items():
            if not graph.has_times:
                of = f" of {triple}" if data.is_hetero else ""
                raise ValueError(
                    f"time_attr: no node attribute {time_attr!r}, and the graph{of} has no edge times ({graph.path}); "
                    "write it with time=, or give the nodes such an attribute"
                )
        if time_window is not None and self.stores and self._timeless:
            raise ValueError(
                f"time_window: expected every node type to have {time_attr!r}, found none of {self._timeless[0]!r}, "
                "whose nodes no window can hold"
            )

    @property
    def stores(self) -> dict[str, FeatureStore]:
        """The stores that have times, by node type; they need not come with a batch."""
        named = {kind: self._data.stores_of(kind) for kind in self._data.relations.node_types}
        return {kind: stores[self._name] for kind, stores in named.items() if self._name in stores}

    @property
    def _timeless(self) -> list[str]:
        """The node types whose nodes have no times, and whose edges have none."""
        relations = self._data.relations
        timed = {end for triple, graph in relations.graphs.items() if graph.has_times for end in triple[::2]}
        return [kind for kind in relations.node_types if kind not in self.stores and kind not in timed]

    @cached_property
    def vectors(self) -> dict[str, NDArray[np.int64]]:
        """The times of all nodes, by node type; none of a type whose edges have the times.

        Views of files where these are int64 in order of id. Nodes that have no times and no edges with times are
        older than any time, which takes 8 bytes a node.
        """
        stores = self.stores
        if not stores:
            return {}
        always = np.iinfo(np.int64).min
        timeless = {kind: np.full(self._data.relations.num_nodes[kind], always) for kind in self._timeless}
        return {**{kind: _times(store) for kind, store in stores.items()}, **timeless}

    @property
    def node_time(self) -> Any:
        """The vectors as samplers take them."""
        if not self.vectors:
            return None
        return self.vectors if self._data.is_hetero else next(iter(self.vectors.values()))

    def of_seeds(self, node_type: str, ids: NDArray[np.int64] | None, name: str) -> NDArray[np.int64]:
        """Return the seeds' own times, for those who gave none as ``name``; without ids of all nodes."""
        if node_type not in self.stores:
            raise ValueError(
                f"{name}: expected a time for each seed, found none, and nodes of type {node_type!r} have no attribute "
                f"{self._name!r} to take them from"
            )
        times = self.vectors[node_type]
        return times if ids is None else times[ids]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "vectors"}


def as_node_times(data: GraphData, time_attr: str | None, time_window: int | None) -> NodeTimes | None:
    """Read ``time_attr``; without one nothing is compared with times."""
    if time_attr is not None:
        return NodeTimes(data, time_attr, time_window)
    if time_window is not None:
        raise ValueError("time_window: expected time_attr with it: a window is one of times")
    return None


def _check_times(store: FeatureStore) -> None:
    is_integer = store.dtype.startswith(("int", "uint")) and not store.quantised
    if not is_integer or store.feature_dim != 1:
        raise ValueError(
            f"time_attr: expected one integer time per node in {store.path}, found {store.dtype} {store.shape}"
        )


def _times(store: FeatureStore) -> NDArray[np.int64]:
    rows = store.gather(np.arange(store.num_rows)) if store.reordered else store.get_tensor()
    return time_vector(rows.reshape(-1), store.path)
