"""Text that stands for one of a few things: the names there are, and a number for each."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import value_error
from graphzero.convert.arrow_files import pyarrow
from graphzero.convert.tables.arrow_types import compute, decoded

# More than so many are ids rather than classes; the manifest, which holds their names, is read whole.
_MOST = 100_000


_MOST_COLUMNS = 4096
_INTEGER = re.compile("0|-?[1-9][0-9]*")


class Categories:
    """Collects the different values of a column in a first pass, and numbers them in their sorted order in a second.

    Integers sort by value, text by its bytes. Nothing, and in a text an empty field, is -1.
    """

    def __init__(self, column: str, table: str) -> None:
        self._column = column
        self._table = table
        self._found: set[Any] = set()
        self._values: Any = None
        self.names: list[str] = []

    def collect(self, array: Any) -> None:
        """Look at values."""
        self._found.update(compute().unique(_plain(array)).to_pylist())
        if len(self._found) > _MOST:
            raise value_error(
                "features",
                f"column {self._column!r}: expected at most {_MOST:,} different values to number, found more; it looks "
                "like an id: make its values a kind of node, or leave it out",
                where=self._table,
            )

    def refuse_many(self) -> None:
        """Refuse more values than can be columns of a matrix."""
        if len(self.names) > _MOST_COLUMNS:
            raise value_error(
                "features",
                f"column {self._column!r}: expected at most {_MOST_COLUMNS:,} different values for as many columns, "
                f"found {len(self.names):,}; 'as': 'code' makes one column of numbers",
                where=self._table,
            )

    def finish(self) -> None:
        """Number what was collected."""
        self._found.discard(None)
        values = sorted(self._found)
        if values and all(isinstance(value, str) and _INTEGER.fullmatch(value) for value in values):
            values.sort(key=int)  # as the same numbers in a file that has types
        self._values = pyarrow().array(values)
        self.names = [str(value) for value in values]

    def codes(self, array: Any) -> NDArray[np.int64]:
        """Return the number of each value."""
        plain = _plain(array)
        arrow = pyarrow()
        if not self.names:
            return np.full(len(plain), -1, np.int64)
        found = compute().index_in(plain, self._values.cast(plain.type), skip_nulls=True)
        codes: NDArray[np.int64] = found.cast(arrow.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        return codes


def _plain(array: Any) -> Any:
    """Return integers, or text in which nothing is null."""
    arrow = pyarrow()
    array = decoded(array)
    if arrow.types.is_integer(array.type) or arrow.types.is_floating(array.type):
        return array.cast(arrow.int64())  # floats with nothing in some rows are what pandas makes of integers
    text = array if arrow.types.is_string(array.type) else array.cast(arrow.string())
    return compute().if_else(compute().equal(text, ""), None, text)
