"""What ``time_attr`` means: times of nodes, or those stored with the edges."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero.arrays import int64_vector, time_vector
from graphzero.features import FeatureStore
from graphzero.loaders.graph_data import GraphData


class NodeTimes:
    """The times of nodes that an attribute has, if there is one of that name; else edges have the times."""

    def __init__(self, data: GraphData, time_attr: str, time_window: int | None) -> None:
        self._data = data
        self._name = time_attr
        for graph in () if self.stores else data.relations.graphs.values():
            if not graph.has_times:
                raise ValueError(
                    f"time_attr: no node type has an attribute {time_attr!r}, and {graph.path} has no times of edges; "
                    "add the attribute to the nodes, or write the graph with time="
                )
        untimed = [kind for kind in data.relations.node_types if kind not in self.stores]
        if time_window is not None and self.stores and untimed:
            raise ValueError(
                f"time_window: expected every node type to have {time_attr!r}, found none of {untimed[0]!r}, whose "
                "nodes no window can hold"
            )

    @property
    def stores(self) -> dict[str, FeatureStore]:
        """The stores that have times, by node type."""
        named = {kind: self._data.attributes_by_name(kind) for kind in self._data.relations.node_types}
        return {kind: stores[self._name] for kind, stores in named.items() if self._name in stores}

    @cached_property
    def vectors(self) -> dict[str, NDArray[np.int64]]:
        """The times of all nodes, by node type; empty if edges have the times.

        Views of files where these are int64 in order of id. Types without the attribute are older than any
        time, which takes 8 bytes a node.
        """
        if not self.stores:
            return {}
        always = np.iinfo(np.int64).min
        return {
            kind: _times(self.stores[kind]) if kind in self.stores else np.full(count, always)
            for kind, count in self._data.relations.num_nodes.items()
        }

    def of_seeds(self, seeds: Mapping[str, Any]) -> dict[str, NDArray[np.int64]]:
        """Return the seeds' own times, for those who gave none."""
        unknown = [kind for kind in seeds if kind not in self.stores]
        if unknown:
            raise ValueError(
                f"input_time, edge_label_time: expected a time per seed, found none, and node type {unknown[0]!r} has "
                f"no attribute {self._name!r} that could stand for it"
            )
        return {kind: self.vectors[kind][int64_vector(nodes, "seeds")] for kind, nodes in seeds.items()}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "vectors"}


def _times(store: FeatureStore) -> NDArray[np.int64]:
    rows = store.gather(np.arange(store.num_rows)) if store.reordered else store.get_tensor()
    if rows.ndim == 2 and rows.shape[1] == 1:
        rows = rows[:, 0]
    return time_vector(rows, store.path)
