"""A block of rows, and what every source of them is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import Setting, error_of, value_error
from graphzero.convert.label_lookup import Labels
from graphzero.convert.text import BadLine

# Which columns make a row: one gives a vector, several a matrix.
Columns: TypeAlias = "str | int | Sequence[str | int] | None"

_ID_NAMES = frozenset(["id", "ids", "nid", "node", "nodeid", "vertex", "vertexid"])


@dataclass
class Block:
    """Rows in input order. ``lines`` and ``ids``, or ``labels`` instead, are set if each row says its own place."""

    rows: NDArray[Any]
    done: int  # bytes of the source that have been read
    ids: NDArray[np.int64] | None = None
    lines: NDArray[np.int64] | None = None
    num_bad: int = 0
    bad: list[BadLine] = field(default_factory=list)
    labels: Labels | None = None


class FeatureSource(Protocol):
    """Rows that can be read in blocks, without holding more than a few of them."""

    name: str  # opens error messages
    dtype: np.dtype[Any]
    bfloat16: bool  # the items are bits of bfloat16, as uint16
    row_shape: tuple[int, ...]
    num_rows: int | None  # where it is known before reading
    nbytes: int | None  # of the source, for progress
    first_row: int  # of a source that is a part of another: the number of its first row there, for errors

    def ranges(self, count: int) -> list[tuple[int, int]] | None:
        """Cut the source into at most ``count`` parts, each to be opened by its range; ``None`` if it has none."""
        ...

    def blocks(self, block_bytes: int) -> Iterator[Block]:
        """Read from the start, about ``block_bytes`` at a time."""
        ...

    def row_name(self, line: int) -> str:
        """Return what messages call a row: a line of text, or the number of a row."""
        ...

    def excerpts(self, lines: Iterable[int]) -> dict[int, str]:
        """Return the texts at some lines, in one pass; none if rows are no text."""
        ...


def even_ranges(size: int, count: int) -> list[tuple[int, int]]:
    """Cut ``size`` things into at most ``count`` ranges of about the same length; there is always one."""
    step = max(1, -(-size // count))
    return [(begin, min(begin + step, size)) for begin in range(0, max(size, 1), step)]


def column_positions(columns: Columns, names: Sequence[str], count: int, name: str) -> list[int]:
    """Resolve columns given by name or position."""
    if columns is None:
        return list(range(count))
    listed = [columns] if isinstance(columns, (str, int)) else list(columns)
    positions = [_position(column, names, count, name, "columns") for column in listed]
    if len(set(positions)) < len(positions):
        raise value_error("columns", f"expected each column once, found {listed}", where=name)
    return positions


def id_position(column: str | int, names: Sequence[str], count: int, name: str) -> int:
    """Resolve the column of ids."""
    return _position(column, names, count, name, "id_column")


def refuse_ids_as_features(names: Sequence[str], columns: Columns, id_column: str | int | None, name: str) -> None:
    """Refuse integers in a first column whose name says that they number nodes, unless the user says what they are."""
    if columns is not None or id_column is not None or not names:
        return
    first = names[0].strip().lower()
    if first in _ID_NAMES or first.endswith("_id"):
        raise error_of(
            ValueError,
            f"{name}: the first column, {names[0]}, looks like ids of nodes rather than a feature: give ",
            Setting("id_column", names[0]), ", or ", Setting("columns"), " with all columns that are features",
        )  # fmt: skip


def _position(column: str | int, names: Sequence[str], count: int, name: str, argument: str) -> int:
    if isinstance(column, str) and column in names:
        if names.count(column) > 1:
            raise value_error(
                argument,
                f"expected one column {column!r}, found {names.count(column)}; give positions, or names that differ",
                where=name,
            )
        return names.index(column)
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and 0 <= column < count:
        return int(column)
    there = ", ".join(names) if names else f"0 to {count - 1}"
    raise value_error(argument, f"expected one of {there}, found {column!r}", where=name)
