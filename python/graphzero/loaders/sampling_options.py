"""PyG's names for what is sampled, as the samplers here take it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero.dataset import Dataset, EdgeTriple
from graphzero.loaders.graph_data import GraphData, as_graph_data


def fanouts_of(num_neighbors: Any, data: GraphData) -> Any:
    """Read ``num_neighbors``: a list, a dict by edge type, or PyG's ``NumNeighbors``."""
    values, default = getattr(num_neighbors, "values", num_neighbors), getattr(num_neighbors, "default", None)
    if isinstance(num_neighbors, Mapping):
        values, default = num_neighbors, None
    if not isinstance(values, Mapping):
        return _hops(values)
    if not data.is_hetero:
        raise TypeError("num_neighbors: expected a list for a homogeneous graph, found a dict")
    read: dict[Any, Any] = {edge_type_of(key, data, "num_neighbors"): _hops(hops) for key, hops in values.items()}
    if default is not None:
        read = {**dict.fromkeys(data.relations.graphs, _hops(default)), **read}
    missing = [key for key in data.relations.graphs if key not in read]
    if missing:
        raise ValueError(f"num_neighbors: expected a list for every edge type, found none for {missing[0]}")
    if len({len(hops) for hops in read.values()}) > 1:
        raise ValueError("num_neighbors: expected as many hops for each edge type, found different numbers")
    return read


def _hops(given: Any) -> list[Any]:
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise TypeError(f"num_neighbors: expected a number for each hop, such as [10, 5], found {given!r}")
    return list(given)


def edge_type_of(key: Any, data: GraphData, name: str) -> EdgeTriple:
    """Read an edge type as PyG writes it: a triple, ``"a__to__b"``, or ``("a", "b")`` if that is enough."""
    parts = tuple(key.split("__")) if isinstance(key, str) else tuple(key)
    types = list(data.relations.graphs)
    close = [triple for triple in types if triple == parts or (triple[0], triple[2]) == parts]
    if len(close) != 1:
        raise ValueError(f"{name}: no edge type {parts}; there are {types}")
    return close[0]


def check_weights(weight_attr: Any, data: GraphData) -> bool:
    """Return whether to draw by weight; the graph holds them, whatever ``weight_attr`` calls them."""
    if weight_attr is None:
        return False
    for graph in data.relations.graphs.values():
        if not graph.has_weights:
            raise ValueError(
                f"weight_attr: expected a graph with weights, found none in {graph.path}; write it with weight="
            )
    return True


def node_times(time_attr: str | None, data: GraphData) -> dict[str, NDArray[np.int64]]:
    """Return times by node type. There are none if the edges have them."""
    if time_attr is None:
        return {}
    found = {}
    if isinstance(data.graph, Dataset):  # whichever of its attributes come with a batch
        data = as_graph_data(data.graph)
    for node_type in data.relations.node_types:
        store = data.attributes_by_name(node_type).get(time_attr)
        if store is not None:
            if store.dtype not in ("int64", "int32") or int(np.prod(store.shape[1:])) != 1:
                raise ValueError(
                    f"time_attr: expected one integer time per node in {store.path}, found {store.dtype} {store.shape}"
                )
            found[node_type] = store.get_tensor(writable=False).reshape(-1).astype(np.int64, copy=False)
    if found:
        return found
    for triple, graph in data.relations.graphs.items():
        if not graph.has_times:
            of = f" of {triple}" if data.is_hetero else ""
            raise ValueError(
                f"time_attr: no node attribute {time_attr!r}, and the graph{of} has no edge times ({graph.path}); "
                "write it with time=, or give the nodes such an attribute"
            )
    return {}


def times_to_compare(times: dict[str, NDArray[np.int64]], data: GraphData, time_window: int | None) -> Any:
    """Return node times as samplers take them: nodes of a type that has none are never too late."""
    if not times:
        return None
    if not data.is_hetero:
        return next(iter(times.values()))
    timed = {end for ends, graph in data.relations.graphs.items() if graph.has_times for end in ends[::2]}
    timeless = [of for of in data.relations.node_types if of not in times and of not in timed]
    if timeless and time_window is not None:
        raise ValueError(f"time_window: expected times for every node type, found none for {timeless[0]!r}")
    never = np.iinfo(np.int64).min
    return {**times, **{of: np.full(data.relations.num_nodes[of], never) for of in timeless}}
