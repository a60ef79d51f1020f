"""All that loaders and samplers take as ``data``: ours, and PyG's own."""

from __future__ import annotations

import sys
from typing import Any

from graphzero._base.argument_errors import type_error
from graphzero.graph import Direction
from graphzero.loaders._data.graph_data import GraphData, as_graph_data
from graphzero.loaders.pyg.objects import is_pyg_object, object_data

_DIRECTIONS: dict[str, Direction] = {"forward": "in", "backward": "out"}


def as_loader_data(
    data: Any,
    *,
    features: Any = None,
    edge_features: Any = None,
    weight_attr: str | None = None,
    time_attr: str | None = None,
    sample_direction: str = "forward",
) -> GraphData:
    """Read a user's ``data``; edges that are in memory are written to files, with what samples are drawn by."""
    direction = _DIRECTIONS[sample_direction]
    if is_pyg_object(data):
        return object_data(data, features, edge_features, weight_attr, time_attr, direction)
    if _are_stores(data):
        from graphzero.loaders.pyg.foreign_stores import data_of_stores

        return data_of_stores(data[0], data[1], features, edge_features, weight_attr, time_attr, direction)
    return as_graph_data(data, features=features, edge_features=edge_features)


def _are_stores(data: Any) -> bool:
    """Return whether these are a feature store and a graph store, without loading PyG."""
    pyg = sys.modules.get("torch_geometric.data")
    if pyg is None or not isinstance(data, (tuple, list)) or len(data) != 2:
        return False
    if isinstance(data[0], pyg.FeatureStore) and isinstance(data[1], pyg.GraphStore):
        return True
    if any(isinstance(part, (pyg.FeatureStore, pyg.GraphStore)) for part in data):
        found = ", ".join(type(part).__name__ for part in data)
        raise type_error("data", f"expected (FeatureStore, GraphStore), found ({found})")
    return False
