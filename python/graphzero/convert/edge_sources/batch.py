"""A batch of edges, and what every source of them is: the vocabulary of this package."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import value_error
from graphzero._base.arrays import as_numpy, float32_vector, int64_vector, time_vector

# How a column is chosen: by name, by position, True for the one the source has, False for none.
Column: TypeAlias = "str | int | bool | None"
NodeCount: TypeAlias = "int | tuple[int, int] | None"


# Names that say which end is which; without a pair of them the first two columns are taken.
USUAL_ENDS = (
    ("src", "dst"),
    ("source", "target"),
    ("source", "destination"),
    ("from", "to"),
    ("start", "end"),
    ("head", "tail"),
    ("subject", "object"),
)
_SAYS_ID = re.compile(r"(?<=.)[ _]?(node|vertex)?[ _]?id$|(?<=.)[ _]?(node|vertex)$", re.IGNORECASE)


def end_name(name: str) -> str:
    """Return the name of a column without what says that it holds ids of nodes: ``source`` for ``Source_ID``."""
    return _SAYS_ID.sub("", name.strip()).lower()


def usual_ends(names: Sequence[str]) -> tuple[int, int]:
    """Return the places of the columns that hold sources and destinations, by their names or else the first two."""
    for known in ([name.strip().lower() for name in names], [end_name(name) for name in names]):
        for src, dst in USUAL_ENDS:
            if known.count(src) == known.count(dst) == 1:
                return known.index(src), known.index(dst)
    return 0, 1


@dataclass(frozen=True)
class EdgeBatch:
    """Edges ``src[i] → dst[i]``; ids are int64, labels are strings."""

    src: NDArray[Any]
    dst: NDArray[Any]
    weight: NDArray[np.float32] | None = None
    time: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.src)

    def pieces(self, rows: int) -> Iterator[EdgeBatch]:
        """Cut it into batches of at most ``rows`` edges."""
        for start in range(0, len(self), rows):
            part = slice(start, start + rows)
            yield EdgeBatch(
                self.src[part],
                self.dst[part],
                None if self.weight is None else self.weight[part],
                None if self.time is None else self.time[part],
            )


class EdgeSource(Protocol):
    """Edges that can be read in batches, in input order, without holding more than one batch."""

    @property
    def name(self) -> str:
        """What opens error messages."""
        ...

    @property
    def num_edges(self) -> int | None:
        """The number of edges where it is known cheaply, for progress and estimates."""
        ...

    @property
    def num_nodes(self) -> NodeCount:
        """The number of nodes where the source says; a pair if sources and destinations differ in kind."""
        ...

    @property
    def undirected(self) -> bool:
        """Whether each edge comes once and means both directions."""
        ...

    def batches(self, rows: int) -> Iterator[EdgeBatch]:
        """Read from the start, at most ``rows`` edges at a time."""
        ...


def checked_rows(rows: int) -> int:
    """Return ``rows``, the size of a batch, if it is a valid one."""
    if rows < 1:
        raise value_error("rows", f"expected at least 1, found {rows}")
    return rows


def node_ids(values: Any, name: str) -> NDArray[Any]:
    """Turn one end of edges into int64 ids or string labels."""
    array = as_numpy(values, name)
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    if array.ndim == 1 and array.size:
        if array.dtype.kind == "U":
            return array
        if array.dtype.kind == "O":
            return _labels(array, name)
    return int64_vector(array, name)


def _labels(array: NDArray[Any], name: str) -> NDArray[Any]:
    kinds = {type(value) for value in array.tolist()}
    if kinds == {int}:  # Python integers beyond int64 stay objects
        try:
            return array.astype(np.int64)
        except OverflowError:
            raise IndexError(f"{name}: expected integers below 2^63, found {max(array.tolist(), key=abs)}") from None
    if kinds == {str}:
        return array
    other = sorted(kind.__name__ for kind in kinds if kind not in (int, str))
    found = " and ".join(other or sorted(kind.__name__ for kind in kinds))
    raise TypeError(f"{name}: expected integers, or strings, found {found}")


def edge_weights(values: Any, name: str) -> NDArray[np.float32]:
    """Turn weights into float32; a column of one number per edge counts as a vector."""
    array = as_numpy(values, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    return float32_vector(array.view(np.uint8) if array.dtype.kind == "b" else array, name)


def edge_times(values: Any, name: str) -> NDArray[np.int64]:
    """Turn times into int64; a column of one number per edge counts as a vector."""
    array = as_numpy(values, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    return time_vector(array, name)


def edge_batch(src: Any, dst: Any, weight: Any, time: Any, name: str) -> EdgeBatch:
    """Make a batch of anything array-like, with all columns of one length."""
    batch = EdgeBatch(
        node_ids(src, f"{name}: src"),
        node_ids(dst, f"{name}: dst"),
        None if weight is None else edge_weights(weight, f"{name}: weight"),
        None if time is None else edge_times(time, f"{name}: time"),
    )
    for column, values in (("dst", batch.dst), ("weight", batch.weight), ("time", batch.time)):
        if values is not None and len(values) != len(batch.src):
            raise ValueError(f"{name}: {column}: expected {len(batch.src)} values, one per edge, found {len(values)}")
    return batch


def check_ends(src: str, dst: str, name: str) -> None:
    """Refuse one column for both ends: every edge would lead back to where it starts."""
    if src == dst:
        raise ValueError(f"{name}: expected two columns for the ends of an edge, found {src!r} for both src and dst")


def column_name(column: Column, names: list[str], what: str, name: str) -> str:
    """Resolve a column given by name or position among ``names``."""
    if isinstance(column, int) and not isinstance(column, bool) and 0 <= column < len(names):
        column = names[column]
    if isinstance(column, str) and names.count(column) > 1:
        raise value_error(
            what,
            f"expected one column {column!r}, found {names.count(column)}; give them names that differ",
            where=name,
        )
    if isinstance(column, str) and column in names:
        return column
    raise value_error(what, f"expected one of the columns {', '.join(names)}, found {column!r}", where=name)
