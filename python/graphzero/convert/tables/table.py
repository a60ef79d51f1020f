"""Tables: rows of named columns that are read in batches, as often as needed, some columns at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphzero._base.argument_errors import value_error

# Rows that are looked at to see what and how large they are.
_FIRST_ROWS = 1024
_MOST_ROWS = 1 << 17


@dataclass(frozen=True)
class Part:
    """One file of a table, or the whole of a table that is no file.

    ``read`` yields record batches of some columns, of about so many rows. ``line_of`` turns the number of a row, from
    0, into the line of a text, from 1; ``None`` where rows have no lines.
    """

    name: str
    num_rows: int | None
    read: Callable[[Sequence[str], int], Iterator[Any]]
    line_of: Callable[[int], int] | None = None


@dataclass
class Table:
    """Columns by name with their Arrow types. Those of a text are all text, and ``is_text`` says so."""

    name: str
    types: dict[str, Any]
    parts: list[Part]
    is_text: bool = False
    _ends: list[int] = field(default_factory=list)  # of the parts that were read to their end, in rows

    @property
    def num_rows(self) -> int | None:
        """The number of rows, if it is known without reading them."""
        counts = [part.num_rows for part in self.parts]
        return None if any(count is None for count in counts) else sum(count or 0 for count in counts)

    def column(self, name: Any, role: str) -> str:
        """Return the name of a column that a user chose by name or position."""
        names = list(self.types)
        if isinstance(name, int) and not isinstance(name, bool) and 0 <= name < len(names):
            return names[name]
        if not isinstance(name, str) or name not in self.types:
            raise value_error(role, f"expected one of the columns {', '.join(names)}, found {name!r}", where=self.name)
        return name

    def batches(self, columns: Sequence[str], room: int, row_bytes: int = 0) -> Iterator[tuple[int, Any]]:
        """Yield the number of the first row and a record batch of these columns, of about ``room`` bytes at most.

        ``row_bytes`` is what is made of a row, if that may be more than it has.
        """
        rows = self._rows_at_once(columns, room, row_bytes)
        ends: list[int] = []
        first = 0
        for part in self.parts:
            for read in part.read(columns, rows):
                # A source may hand out more than it was asked for.
                for start in range(0, read.num_rows, rows):
                    batch = read.slice(start, rows)
                    yield first, batch
                    first += batch.num_rows
            ends.append(first)
            if len(ends) > len(self._ends):
                self._ends.append(first)

    def first_rows(self, columns: Sequence[str]) -> Any:
        """Return some of the first rows of these columns as a record batch; ``None`` if there are none."""
        for part in self.parts:
            for batch in part.read(columns, _FIRST_ROWS):
                if batch.num_rows:
                    return batch.slice(0, _FIRST_ROWS)
        return None

    def _rows_at_once(self, columns: Sequence[str], room: int, made_bytes: int) -> int:
        batch = self.first_rows(columns)
        if batch is None:
            return 1
        row_bytes: int = batch.nbytes // batch.num_rows
        return max(1, min(room // max(1, row_bytes, made_bytes), _MOST_ROWS))

    def place(self, row: int) -> str:
        """Say where a row that was read is: file and line, or file and row from 0."""
        begin = 0
        for part, end in zip(self.parts, [*self._ends, row + 1], strict=False):
            if row < end:
                return _place(part, row - begin)
            begin = end
        return f"{self.name}: row {row}"


def _place(part: Part, row: int) -> str:
    return f"{part.name}: row {row}" if part.line_of is None else f"{part.name}: line {part.line_of(row)}"
