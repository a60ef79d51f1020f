"""PyG ``Data`` and ``HeteroData`` objects, without importing PyG."""

from __future__ import annotations

import json
import math
import os
from typing import Any

import numpy as np

from graphzero._base.arrays import as_numpy
from graphzero.convert.edge_sources.in_memory import is_pyg
from graphzero.convert.edge_sources.pyg_files import load_pyg, refused_by_pyg
from graphzero.convert.edge_sources.sparse_tensors import edges_of_adj_t
from graphzero.convert.layouts.plan import (
    EDGE,
    NODE,
    EdgePlan,
    EdgeTriple,
    LayoutOptions,
    NodePlan,
    Plan,
    count_classes,
    existing,
)

_MASKS = {"train_mask": "train", "val_mask": "valid", "test_mask": "test"}
_USUAL = {"weight": "edge_weight", "time": "edge_time"}
_STORED = frozenset(
    [
        "bool",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
    ]
)
_MOST_TEXT = 1 << 16  # of one value; the manifest is read whole


def recognises(source: Any) -> bool:
    """Whether it looks like a ``Data`` or ``HeteroData``, a file that holds one, or the folder of a PyG data set."""
    if not isinstance(source, (str, os.PathLike)):
        return is_pyg(source)
    return _file_of(os.fsdecode(source)) is not None


def _file_of(path: str) -> str | None:
    if os.path.isfile(path):
        return path if path.endswith((".pt", ".pth")) else None
    usual = existing(path, "processed/data.pt", "processed/geometric_data_processed.pt")
    if usual is not None or not os.path.isdir(os.path.join(path, "processed")):
        return usual
    entries = os.listdir(os.path.join(path, "processed"))
    found = [name for name in entries if name.endswith(".pt") and name not in ("pre_filter.pt", "pre_transform.pt")]
    return os.path.join(path, "processed", found[0]) if len(found) == 1 else None


def read(source: Any, options: LayoutOptions) -> Plan:
    """Find out what the object holds."""
    if is_pyg(source):
        return _plan_of(source, options)
    path = str(_file_of(source) or source)
    data = load_pyg(path)
    try:
        return _plan_of(data, options)
    except (AttributeError, LookupError, TypeError, RuntimeError) as error:  # the file made up what PyG would not
        raise refused_by_pyg(path, error) from error


def _plan_of(data: Any, options: LayoutOptions) -> Plan:
    plan = Plan(metadata={"layout": "pyg"})
    if hasattr(data, "edge_types"):
        plan.hetero = True
        for kind in data.node_types:
            _Reader(plan, options, data[kind], kind).read_nodes(list(data[kind].keys()))
        for triple in data.edge_types:
            _Reader(plan, options, data[triple], tuple(triple)).read_edges(list(data[triple].keys()))
        _keep_other(plan, plan.other, dict(data._global_store.items()), "the data")
    else:
        _read_homogeneous(plan, data, options)
    for column in _USUAL:
        _check_found(plan, column, getattr(options, column))
    return plan


def _read_homogeneous(plan: Plan, data: Any, options: LayoutOptions) -> None:
    store = data.stores[0]
    names = list(store.keys())  # in the order of assignment, which data.keys() has not
    of_edges = {*store.edge_attrs(), "edge_index", "adj_t"} & set(names)
    of_nodes = [name for name in names if name not in of_edges and store.is_node_attr(name)]
    _Reader(plan, options, store, NODE).read_nodes([*of_nodes, *["num_nodes"] * ("num_nodes" in store)])
    _Reader(plan, options, store, EDGE).read_edges([name for name in names if name in of_edges])
    rest = {name: store[name] for name in names if name not in of_edges and name not in of_nodes}
    rest.pop("num_nodes", None)
    _keep_other(plan, plan.other, rest, "the data")


class _Reader:
    """Reads what one store of PyG's holds of one kind of node or edge."""

    def __init__(self, plan: Plan, options: LayoutOptions, store: Any, kind: Any) -> None:
        self._plan, self._options, self._store, self._kind = plan, options, store, kind

    def read_nodes(self, names: list[str]) -> None:
        count = self._options.count_of(self._kind)
        if count is None:
            count = self._store.num_nodes
        if count is None:
            raise ValueError(
                f"node type {self._kind!r}: expected num_nodes, or a tensor with a row per node, found neither"
            )
        node = self._plan.nodes[self._kind] = NodePlan(int(count))
        for name in names:
            value = self._store[name]
            if name == "num_nodes":
                continue
            if isinstance(value, (list, tuple)) and len(value) == node.num_nodes:
                value = _as_array(value)
                if value is None:
                    self._plan.ignored.append(
                        f"{name} of {self._kind}: a list with an entry per node that are not numbers; text may be the "
                        "ids= of DatasetWriter.add_nodes"
                    )
                    continue
            if (problem := _unfit_for_files(value)) is not None:
                self._plan.ignored.append(f"{name} of {self._kind}: {problem}")
                continue
            if not _has_rows(name, value, node.num_nodes):
                _keep_other(self._plan, node.other, {name: value}, str(self._kind), node.num_nodes)
                continue
            node.attributes[name] = value
            if name == "y":
                node.label, node.num_classes = "y", count_classes(_numbers(value, name))
            if name in _MASKS:
                self._add_split(_MASKS[name], name, as_numpy(value, name))

    def _add_split(self, split: str, name: str, mask: Any) -> None:
        column = self._options.split
        if mask.ndim == 2 and mask.shape[1] > 1:
            if column is None:
                self._plan.ignored.append(
                    f"the split of {name}: it has {mask.shape[1]} columns; give split= 0 to {mask.shape[1] - 1}. The "
                    "mask itself is kept"
                )
                return
            if not isinstance(column, int) or not 0 <= column < mask.shape[1]:
                raise ValueError(
                    f"{name}: expected split= 0 to {mask.shape[1] - 1}, one of its columns, found {column!r}"
                )
            mask = mask[:, column]
        self._plan.add_split(split, self._kind, np.flatnonzero(mask))

    def read_edges(self, names: list[str]) -> None:
        triple: EdgeTriple = self._kind
        src, dst, values = self._ends(triple)
        edge = self._plan.edges[triple] = EdgePlan((src, dst))
        attributes = {name: self._store[name] for name in names if name not in ("edge_index", "adj_t")}
        if values is not None:
            attributes.setdefault("edge_weight" if len(values.shape) == 1 else "edge_attr", values)
        for name, value in attributes.items():
            if (problem := _unfit_for_files(value)) is not None:
                self._plan.ignored.append(f"{name} of {triple}: {problem}")
            elif _has_rows(name, value, len(src)):
                edge.attributes[name] = value
            else:
                _keep_other(self._plan, edge.other, {name: value}, str(triple), len(src))
        edge.weight = self._chosen("weight", edge.attributes)
        edge.time = self._chosen("time", edge.attributes)
        columns = (None if name is None else _numbers(edge.attributes[name], name) for name in (edge.weight, edge.time))
        edge.source = (src, dst, *columns)

    def _ends(self, triple: EdgeTriple) -> tuple[Any, Any, Any]:
        """Return sources and destinations, and the values of an ``adj_t``."""
        if "edge_index" in self._store:
            ends = self._store["edge_index"]
            if len(ends.shape) != 2 or ends.shape[0] != 2:
                raise ValueError(f"edge_index of {triple}: expected shape (2, edges), found {tuple(ends.shape)}")
            return ends[0], ends[1], None
        if "adj_t" in self._store:
            return edges_of_adj_t(self._store["adj_t"], f"adj_t of {triple}")
        if triple == EDGE or not len(list(self._store.keys())):  # nodes without edges
            return np.empty(0, np.int64), np.empty(0, np.int64), None
        raise ValueError(
            f"edge type {triple}: expected an edge_index or an adj_t, found {', '.join(map(str, self._store.keys()))}"
        )

    def _chosen(self, column: str, attributes: dict[str, Any]) -> str | None:
        """Return the attribute that is to be the graph's weights or times: the one asked for, or the usual one."""
        wanted = getattr(self._options, column)
        if wanted is False:
            return None
        if isinstance(wanted, str):
            return wanted if wanted in attributes else None
        name = _USUAL[column]
        if name not in attributes:
            return None
        return name if _is_fit(_numbers(attributes[name], name), column) else None  # signed weights are attributes


def _check_found(plan: Plan, column: str, wanted: Any) -> None:
    """Refuse a name that no edge type has."""
    if isinstance(wanted, str) and not any(getattr(edge, column) == wanted for edge in plan.edges.values()):
        there = sorted({name for edge in plan.edges.values() for name in edge.attributes})
        raise ValueError(f"{column}: expected an attribute of edges, one of {there}, found {wanted!r}")


def _is_fit(values: Any, column: str) -> bool:
    """Whether values can be the weights or times of a graph: one number per edge, and weights not negative."""
    if values.ndim > 2 or (values.ndim == 2 and values.shape[1] != 1):
        return False
    if column == "time":
        return bool(values.dtype.kind in "iu")
    return values.dtype.kind in "iuf" and bool(not values.size or (np.isfinite(values).all() and values.min() >= 0))


def _numbers(value: Any, name: str) -> Any:
    """Return a tensor as an array whose values can be compared."""
    is_bfloat16 = str(getattr(value, "dtype", "")) == "torch.bfloat16"
    return as_numpy(value.float() if is_bfloat16 else value, name)


def _has_rows(name: str, value: Any, count: int) -> bool:
    """Whether there is a row for each node or edge. Tensors of indices count along their last dimension in PyG."""
    if not _is_array(value) or not len(value.shape) or (len(value.shape) > 1 and ("index" in name or name == "face")):
        return False
    return bool(value.shape[0] == count)


def _counts_last(name: str, value: Any, counted: tuple[int, ...]) -> bool:
    is_indices = "index" in name or name == "face"
    return is_indices and len(getattr(value, "shape", ())) > 1 and int(value.shape[-1]) in counted


def _as_array(values: Any) -> Any:
    """Return a list as numbers, or ``None`` if they are none."""
    array = np.asarray(values, dtype=None if all(isinstance(one, (bool, int, float)) for one in values) else object)
    return array if array.dtype.kind in "biuf" else None


def _unfit_for_files(value: Any) -> str | None:
    """Say why a tensor or an array cannot be stored; other values are judged elsewhere."""
    if not _is_array(value):
        return None
    if "sparse" in str(getattr(value, "layout", "")):
        return "a sparse tensor"
    kind = str(value.dtype).removeprefix("torch.")
    if kind not in _STORED:
        return f"{kind} is no type that files have"
    is_nan = len(value.shape) == 0 and kind.startswith(("float", "bfloat")) and not math.isfinite(float(value))
    return "a number that is not finite, which JSON has not" if is_nan else None


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape") and hasattr(value, "__array__")


def _keep_other(plan: Plan, other: dict[str, Any], values: dict[str, Any], of: str, *counted: int) -> None:
    """Keep what has no row per node or edge, as far as it can be stored."""
    for name, value in values.items():
        problem = _unfit_for_files(value) if _is_array(value) else _unfit_for_json(value)
        if problem is None and name != "edge_label_index" and counted and _counts_last(name, value, counted):
            problem = "PyG's loaders take the rows of its last dimension, which is not done here; transpose it"
        if problem is None:
            other[str(name)] = value
        else:
            plan.ignored.append(f"{name} of {of}: {problem}")


def _unfit_for_json(value: Any) -> str | None:
    """Say why a value cannot be kept in the manifest."""
    try:
        text = json.dumps(value, allow_nan=False)
        if json.loads(text) == value:
            return None if len(text) <= _MOST_TEXT else f"as text it has {len(text):,} bytes, more than {_MOST_TEXT:,}"
    except (TypeError, ValueError, RecursionError):
        pass
    return f"a {type(value).__name__}, neither a tensor nor a plain value"
