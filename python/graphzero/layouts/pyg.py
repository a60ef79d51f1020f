"""PyG ``Data`` and ``HeteroData`` objects, without importing PyG."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphzero.arrays import as_numpy
from graphzero.layouts.plan import EDGE, NODE, EdgePlan, EdgeTriple, Labels, LayoutOptions, NodePlan, Plan
from graphzero.sources.in_memory import is_pyg

_MASKS = {"train_mask": "train", "val_mask": "valid", "test_mask": "test"}
_EDGES = ("edge_index", "adj_t", "edge_weight")


def recognises(source: Any) -> bool:
    """Whether it looks like a ``Data`` or ``HeteroData``."""
    return is_pyg(source)


def read(data: Any, options: LayoutOptions) -> Plan:
    """Find out what the object holds."""
    plan = Plan(metadata={"layout": "pyg"})
    if not hasattr(data, "edge_types"):
        node_names = set(data.node_attrs()) | {"num_nodes"}
        store = {str(key): data[key] for key in _keys(data)}
        _read_nodes(plan, NODE, {key: store[key] for key in store if key in node_names}, options)
        _read_edges(plan, EDGE, {key: store[key] for key in data.edge_attrs() if key in store})
        for key in store:
            if key not in node_names and key not in data.edge_attrs():
                plan.ignored.append(f"{key}: neither of nodes nor of edges")
        return plan
    for kind in data.node_types:
        _read_nodes(plan, kind, {str(key): data[kind][key] for key in _keys(data[kind])}, options)
    for triple in data.edge_types:
        _read_edges(plan, tuple(triple), {str(key): data[triple][key] for key in _keys(data[triple])})
    return plan


def _keys(store: Any) -> list[Any]:
    return list(store.keys() if callable(store.keys) else store.keys)


def _read_nodes(plan: Plan, kind: str, store: dict[str, Any], options: LayoutOptions) -> None:
    tensors = {key: value for key, value in store.items() if hasattr(value, "shape") and len(value.shape) > 0}
    count = options.count_of(kind)
    if count is None:
        count = store.get("num_nodes")
    if count is None:
        if not tensors:
            raise ValueError(f"node type {kind!r}: expected num_nodes, or a tensor with a row per node, found neither")
        count = next(iter(tensors.values())).shape[0]
    node = plan.nodes[kind] = NodePlan(int(count))
    for key, value in store.items():
        if key in _MASKS:
            plan.add_split(_MASKS[key], kind, np.flatnonzero(_mask(value, key, options.split)))
        elif key == "y":
            plan.add_label(kind, "y", Labels(as_numpy(value, "y")))
        elif key in tensors and value.shape[0] == node.num_nodes:
            node.attributes[key] = value
        elif key != "num_nodes":
            plan.ignored.append(f"{key} of {kind}: not a tensor with a row per node")


def _mask(value: Any, key: str, split: str | int | None) -> Any:
    mask = as_numpy(value, key)
    if mask.ndim == 1:
        return mask
    if not isinstance(split, int) or not 0 <= split < mask.shape[1]:
        raise ValueError(f"{key}: expected split= 0 to {mask.shape[1] - 1}, one of its columns, found {split!r}")
    return mask[:, split]


def _read_edges(plan: Plan, triple: EdgeTriple, store: dict[str, Any]) -> None:
    if "edge_index" not in store:
        raise ValueError(f"edge type {triple}: expected an edge_index, found {', '.join(store) or 'nothing'}")
    ends = store["edge_index"]
    weight = store.get("edge_weight")
    edge = EdgePlan((ends[0], ends[1]) if weight is None else (ends[0], ends[1], weight))
    for key, value in store.items():
        if key in _EDGES:
            continue
        if hasattr(value, "shape") and len(value.shape) > 0 and value.shape[0] == ends.shape[1]:
            edge.attributes[key] = value
        else:
            plan.ignored.append(f"{key} of {triple}: not a tensor with a row per edge")
    plan.edges[triple] = edge
