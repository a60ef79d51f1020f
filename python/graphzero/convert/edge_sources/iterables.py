"""Edges from anything that yields them: the adapter for databases, Spark and code of your own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from graphzero._base.argument_errors import value_error
from graphzero.convert.edge_sources.batch import EdgeBatch, checked_rows, edge_batch


class IterableSource:
    """Reads batches ``(src, dst[, weight][, time])``, ``EdgeBatch``, mappings of these names, or single edges.

    A third column is the weight, unless ``time=True`` is given and ``weight`` is not.
    """

    name = "batches"
    num_edges = None
    num_nodes = None
    undirected = False

    def __init__(self, batches: Iterable[Any], *, weight: Any = None, time: Any = None) -> None:
        self._batches = batches
        self._once = iter(batches) is batches
        self._read = False
        self._third_is_time = bool(time) and not weight

    def batches(self, rows: int) -> Iterator[EdgeBatch]:
        """Read at most ``rows`` edges at a time; an iterator can be read once."""
        checked_rows(rows)
        if self._read and self._once:
            raise ValueError(f"{self.name}: this iterator can be read once; give a list, or an object with __iter__")
        self._read = True
        items = iter(self._batches)
        first = next(items, None)
        if first is None and self._once:
            raise ValueError(
                f"{self.name}: expected at least one batch of edges, found none; a graph without edges is made of "
                "np.empty((2, 0), int)"
            )
        if first is None:
            return
        items = chain([first], items)
        if isinstance(first, tuple) and first and not _is_array_like(first[0]):
            items = _collected(items, rows)
        columns = None
        for number, item in enumerate(items):
            batch = self._batch(item, f"{self.name}: batch {number}")
            found = batch.weight is not None, batch.time is not None
            if columns is not None and found != columns:
                raise ValueError(
                    f"{self.name}: batch {number}: expected {_listed(columns)} as before, found {_listed(found)}"
                )
            columns = found
            yield from batch.pieces(rows)

    def _batch(self, item: Any, name: str) -> EdgeBatch:
        if isinstance(item, EdgeBatch):
            return edge_batch(item.src, item.dst, item.weight, item.time, name)
        if isinstance(item, Mapping):
            if "src" not in item or "dst" not in item:
                raise ValueError(f"{name}: expected src and dst, found {', '.join(map(str, item)) or 'nothing'}")
            return edge_batch(item["src"], item["dst"], item.get("weight"), item.get("time"), name)
        if not isinstance(item, (tuple, list)) or not 2 <= len(item) <= 4:
            found = f"{len(item)} columns" if isinstance(item, (tuple, list)) else type(item).__name__
            raise TypeError(f"{name}: expected (src, dst[, weight][, time]), found {found}")
        src, dst, weight, time = (*item, None, None)[:4]
        if len(item) == 3 and self._third_is_time:
            weight, time = None, weight
        return edge_batch(src, dst, weight, time, name)


def _is_array_like(value: Any) -> bool:
    return not isinstance(value, str) and (hasattr(value, "__len__") or getattr(value, "ndim", 0) > 0)


def _collected(edges: Iterator[Any], rows: int) -> Iterator[Any]:
    """Turn single edges ``(u, v, …)`` into batches of columns."""
    done = 0
    while batch := list(islice(edges, rows)):
        width = len(batch[0])
        for i, edge in enumerate(batch):
            if not isinstance(edge, tuple) or len(edge) != width:
                raise value_error("batches", f"edge {done + i}: expected a tuple of {width} values, found {edge!r}")
        done += len(batch)
        yield tuple(list(column) for column in zip(*batch, strict=True))


def _listed(columns: tuple[bool, bool]) -> str:
    names = [name for name, there in zip(("weights", "times"), columns, strict=True) if there]
    return " and ".join(names) or "neither weights nor times"
