"""What ``time_attr`` means: times of nodes, or those stored with the edges."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from graphzero._base.argument_errors import value_error
from graphzero._base.arrays import time_vector
from graphzero.features import FeatureStore
from graphzero.loaders._data.edge_values import stored_name, types_that_store
from graphzero.loaders._data.graph_data import GraphData


class NodeTimes:
    """The times of nodes that an attribute of that name has, and the edge types whose edges have times.

    Where neighbours have times, these count; else those of the edges; else nothing is limited by time.
    """

    def __init__(self, data: GraphData, time_attr: str) -> None:
        self._data = data
        self._name = time_attr
        for source in self.sources.values():
            _check_times(source, time_attr)
        self.edge_types = types_that_store(data, "time", time_attr)
        if not (self.edge_types or self.sources):
            raise value_error(
                "time_attr",
                f"no node attribute {time_attr!r}, and {_instead(data)}, or give the nodes such an attribute",
            )

    @property
    def sources(self) -> dict[str, Any]:
        """What has the times, by node type: stores, which need not come with a batch, or tensors in memory."""
        named = {
            kind: {**self._data.stores_of(kind), **self._data.in_memory_of(kind)}
            for kind in self._data.relations.node_types
        }
        return {kind: sources[self._name] for kind, sources in named.items() if self._name in sources}

    @cached_property
    def vectors(self) -> dict[str, NDArray[np.int64]]:
        """The times of all nodes, by node type: views of files where these are int64 in order of id."""
        return {kind: _times(source, self._name) for kind, source in self.sources.items()}

    @property
    def node_time(self) -> Any:
        """The vectors as samplers take them."""
        if not self.vectors:
            return None
        return self.vectors if self._data.is_hetero else next(iter(self.vectors.values()))

    def of_seeds(self, node_type: str, ids: NDArray[np.int64] | None, name: str) -> NDArray[np.int64]:
        """Return the seeds' own times, of all nodes if there are no ids. ``name`` is the argument for others."""
        if node_type not in self.sources:
            raise value_error(
                name,
                f"expected a time for each seed, found none, and nodes of type {node_type!r} have no attribute "
                f"{self._name!r} to take them from",
            )
        times = self.vectors[node_type]
        return times if ids is None else times[ids]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "vectors"}


def as_node_times(data: GraphData, time_attr: str | None, time_window: int | None) -> NodeTimes | None:
    """Read ``time_attr``; without one nothing is compared with times."""
    if time_attr is not None:
        return NodeTimes(data, time_attr)
    if time_window is not None:
        raise value_error("time_window", "expected time_attr with it: a window is one of times")
    return None


def _instead(data: GraphData) -> str:
    """Say what is there in place of times of edges."""
    for triple, graph in data.relations.graphs.items():
        of, made_of = f" of {triple}" if data.is_hetero else "", stored_name(data, triple, "time")
        found = "no edge times" if made_of is None else f"edge times of {made_of!r}"
        return f"the graph{of} has {found} ({graph.path}); write it with time="
    return "there are no edges; add some that have times"


def _check_times(source: Any, name: str) -> None:
    if isinstance(source, FeatureStore):
        is_integer = source.dtype.startswith(("int", "uint")) and not source.quantised
        where, is_column = source.path, source.feature_dim == 1
    else:
        is_integer = not (source.is_floating_point() or source.is_complex() or source.dtype == torch.bool)
        where, is_column = f"{name!r}", source.numel() == len(source)
    if not (is_integer and is_column):
        raise value_error(
            "time_attr", f"expected one integer time per node in {where}, found {source.dtype} {tuple(source.shape)}"
        )


def _times(source: Any, name: str) -> NDArray[np.int64]:
    if not isinstance(source, FeatureStore):
        return time_vector(source.reshape(-1), name)
    rows = source.gather(np.arange(source.num_rows)) if source.reordered else source.get_tensor()
    return time_vector(rows.reshape(-1), source.path)
