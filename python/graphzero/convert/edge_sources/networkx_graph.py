"""Edges of NetworkX graphs; nodes that are not integers are labels."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import type_error, value_error
from graphzero.convert.edge_sources.batch import EdgeBatch, checked_rows, edge_times, edge_weights

_ABSENT = object()


def is_networkx(value: Any) -> bool:
    """Whether it looks like a NetworkX graph."""
    return hasattr(value, "is_directed") and hasattr(value, "adjacency") and hasattr(value, "number_of_edges")


class NetworkxSource:
    """Reads ``graph.edges``; weights and times are named edge attributes."""

    name = "graph"

    def __init__(self, graph: Any, *, weight: Any = None, time: Any = None) -> None:
        self._graph = graph
        self._names = [_attribute_name(weight, "weight"), _attribute_name(time, "time")]
        self.num_edges: int = graph.number_of_edges()
        self.undirected = not graph.is_directed()
        first: dict[Any, Any] = next((values for *_, values in graph.edges(data=True)), {})
        self.unused_columns = tuple(str(name) for name in first if name not in self._names)
        kinds = {type(node) for node in graph}
        self._labelled = kinds == {str}
        if not kinds <= {int} and not self._labelled:
            node = next(node for node in graph if type(node) is not int)
            raise type_error(
                "graph",
                f"expected nodes that are all integers or all strings, found {type(node).__name__} "
                f"{node!r}; relabel them with networkx.relabel_nodes",
            )
        dense = kinds == {int} and min(graph) >= 0 and max(graph) < len(graph)
        self.num_nodes: int | None = len(graph) if dense else None

    def batches(self, rows: int) -> Iterator[EdgeBatch]:
        """Read ``rows`` edges at a time."""
        checked_rows(rows)
        edges = iter(self._graph.edges(data=True))
        while batch := list(islice(edges, rows)):
            weight, time = (
                None if name is None else np.array([self._value(edge, name) for edge in batch]) for name in self._names
            )
            yield EdgeBatch(
                self._ends(batch, 0),
                self._ends(batch, 1),
                None if weight is None else edge_weights(weight, "graph: weight"),
                None if time is None else edge_times(time, "graph: time"),
            )

    def _ends(self, batch: list[Any], end: int) -> NDArray[Any]:
        nodes = [edge[end] for edge in batch]
        return np.array(nodes, dtype=object if self._labelled else np.int64)

    def _value(self, edge: Any, name: str) -> Any:
        value = edge[2].get(name, _ABSENT)
        if value is _ABSENT:
            there = ", ".join(map(str, edge[2])) or "none"
            raise value_error(
                "graph", f"edge {edge[0]!r} → {edge[1]!r}: expected the attribute {name!r}, found {there}"
            )
        return value


def _attribute_name(column: Any, usual: str) -> str | None:
    if column is None or column is False:
        return None
    return usual if column is True else str(column)
