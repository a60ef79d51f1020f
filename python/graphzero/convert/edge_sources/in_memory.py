"""Edges that are in memory already: arrays, tensors, PyG ``Data`` and DGL graphs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.arrays import as_numpy
from graphzero._files.storage import path_here
from graphzero.convert.edge_sources.array_file import npy_file
from graphzero.convert.edge_sources.batch import Column, EdgeBatch, NodeCount, checked_rows, edge_batch


class ArraySource:
    """Edges of two vectors, and perhaps a vector of weights and one of times."""

    def __init__(
        self,
        name: str,
        src: Any,
        dst: Any,
        weight: Any = None,
        time: Any = None,
        *,
        num_nodes: NodeCount = None,
        undirected: bool = False,
    ) -> None:
        self.name = name
        self.num_nodes = num_nodes
        self.undirected = undirected
        self._src = _vector(src, f"{name}: src")
        self._dst = _vector(dst, f"{name}: dst")
        self._weight = None if weight is None else _vector(weight, f"{name}: weight")
        self._time = None if time is None else _vector(time, f"{name}: time")
        self.num_edges: int = len(self._src)
        # Lengths and types are known now; slices of empty arrays cost nothing.
        for column, values in (("dst", self._dst), ("weight", self._weight), ("time", self._time)):
            if values is not None and len(values) != self.num_edges:
                raise ValueError(
                    f"{name}: {column}: expected {self.num_edges} values, one per edge, found {len(values)}"
                )
        for column, values in (("src", self._src), ("dst", self._dst)):
            if values.size and values.dtype.kind not in "iuUSO":
                raise TypeError(f"{name}: {column}: expected integers, found {values.dtype}")

    @property
    def empty(self) -> EdgeBatch:
        """A batch without edges, with weights and times if edges have them."""
        none = np.empty(0, dtype=np.int64)
        return EdgeBatch(
            none,
            none,
            None if self._weight is None else np.empty(0, dtype=np.float32),
            None if self._time is None else none,
        )

    def batches(self, rows: int) -> Iterator[EdgeBatch]:
        """Read ``rows`` edges at a time."""
        checked_rows(rows)
        for start in range(0, self.num_edges, rows):
            part = slice(start, start + rows)
            yield edge_batch(
                self._src[part],
                self._dst[part],
                None if self._weight is None else self._weight[part],
                None if self._time is None else self._time[part],
                self.name,
            )


def _vector(values: Any, name: str) -> NDArray[Any]:
    array = as_numpy(values, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name}: expected one dimension, found shape {array.shape}")
    return array


def array_source(values: Any, *, weight: Any = None, time: Any = None, name: str = "edges") -> ArraySource:
    """Read edges from a ``(2, E)`` or ``(E, 2)`` array, or a list of pairs."""
    array = as_numpy(values, name)
    if array.size == 0 and array.ndim == 1:  # an empty list of pairs
        array = array.reshape(2, 0).astype("int64")
    if array.ndim != 2 or 2 not in array.shape:
        raise ValueError(f"{name}: expected shape (2, E) or (E, 2), found {array.shape}")
    src, dst = array if array.shape[0] == 2 else array.T
    return ArraySource(name, src, dst, _optional_column(weight), _optional_column(time))


def columns_source(columns: tuple[Any, ...], *, weight: Any = None, time: Any = None) -> ArraySource:
    """Read edges from a tuple ``(src, dst[, weight[, time]])``."""
    if not 2 <= len(columns) <= 4:
        raise value_error(
            "edges", f"expected a tuple of 2 to 4 arrays, src, dst, weight and time, found {len(columns)}"
        )
    src, dst, own_weight, own_time = (*columns, None, None)[:4]
    return ArraySource(
        "edges",
        src,
        dst,
        own_weight if _optional_column(weight) is None else _optional_column(weight),
        own_time if _optional_column(time) is None else _optional_column(time),
    )


def _optional_column(values: Any) -> Any:
    """Take an array, or the path of a ``.npy`` file; ``True`` and ``False`` name none."""
    if values is None or isinstance(values, bool):
        return None
    if isinstance(values, (str, os.PathLike)):
        path = path_here(values)
        if not path.endswith(".npy"):
            raise value_error("edges", f"expected an array or a .npy file beside arrays of edges, found {path!r}")
        return npy_file(path).memmap()
    return values


def is_pyg(value: Any) -> bool:
    """Whether it looks like a PyG ``Data`` or ``HeteroData``."""
    return hasattr(value, "edge_attrs") or (hasattr(value, "edge_types") and hasattr(value, "node_types"))


def pyg_source(data: Any, *, weight: Any = None, time: Any = None) -> ArraySource:
    """Read the edges of a PyG ``Data``.

    ``edge_weight`` is taken where there is one. Other weights, and times, are named: ``weight="edge_attr"``.
    """
    if hasattr(data, "edge_types"):
        raise type_error(
            "edges", "expected a Data, found a HeteroData; use convert_dataset, or convert data[type] each"
        )
    if getattr(data, "edge_index", None) is None:
        raise ValueError(f"Data: expected an edge_index, found only {', '.join(_keys(data)) or 'nothing'}")
    source = array_source(data.edge_index, name="Data.edge_index")
    chosen_weight = _attribute(data, weight, "weight", ("edge_weight", "edge_attr"))
    if weight is None and "edge_weight" in _keys(data):
        chosen_weight = data.edge_weight
    chosen_time = _attribute(data, time, "time", ("edge_time", "time"))
    return ArraySource(
        "Data", source._src, source._dst, chosen_weight, chosen_time, num_nodes=_num_nodes(data), undirected=False
    )


def _keys(data: Any) -> list[str]:
    return [str(key) for key in (data.keys() if callable(data.keys) else data.keys)]


def _attribute(data: Any, wanted: Any, what: str, usual: tuple[str, ...]) -> Any:
    if wanted is None or wanted is False:
        return None
    keys = _keys(data)
    for key in usual if wanted is True else (wanted,):
        if key in keys:
            return data[key]
    raise ValueError(f"Data: {what}: expected one of its attributes {', '.join(keys)}, found {wanted!r}")


def _num_nodes(data: Any) -> int | None:
    """Return the number of nodes where the data says; PyG itself guesses from the edges, with a warning."""
    keys = _keys(data)
    if "num_nodes" in keys:
        return int(data["num_nodes"])
    return int(data["x"].shape[0]) if "x" in keys else None


def is_dgl(value: Any) -> bool:
    """Whether it looks like a DGL graph."""
    return hasattr(value, "ndata") and hasattr(value, "edata") and callable(getattr(value, "edges", None))


def dgl_source(graph: Any, *, weight: Column = None, time: Column = None) -> ArraySource:
    """Read the edges of a DGL graph with one edge type; weights and times are names in ``edata``."""
    types = list(getattr(graph, "canonical_etypes", [None]))
    if len(types) != 1:
        raise type_error("graph", f"expected one edge type, found {len(types)}; convert graph[type] each")

    def column(name: Column, what: str) -> Any:
        if name is None or name is False:
            return None
        if name not in graph.edata:
            raise value_error("graph", f"{what}: expected one of edata {', '.join(graph.edata)}, found {name!r}")
        return graph.edata[name]

    src, dst = graph.edges()
    num_nodes: NodeCount = None
    if types[0] is not None and types[0][0] != types[0][2]:
        num_nodes = (int(graph.num_nodes(types[0][0])), int(graph.num_nodes(types[0][2])))
    elif callable(getattr(graph, "num_nodes", None)):
        num_nodes = int(graph.num_nodes())
    return ArraySource("graph", src, dst, column(weight, "weight"), column(time, "time"), num_nodes=num_nodes)
