"""Attributes that are made of the columns of a table, from the columns to the rows of a file."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.dtypes import DataType, as_data_type, name_of, numpy_dtype
from graphzero._core import FormatError
from graphzero._files.folder import check_free_space
from graphzero._files.mounted import path_bytes
from graphzero.convert.arrow_files import pyarrow
from graphzero.convert.row_conversion import QUANTISED
from graphzero.convert.row_sources.values import Loss, ValueConverter
from graphzero.convert.row_writer import RowWriter
from graphzero.convert.tables.arrow_types import decoded, is_list_type, is_text_type
from graphzero.convert.tables.categories import Categories
from graphzero.convert.tables.numbers import NumberColumn, is_number
from graphzero.convert.tables.spec import AttributeSpec, ColumnSpec
from graphzero.convert.tables.table import Table
from graphzero.convert.tables.times import TimeColumn

# Types that are not stored, and those that hold all their numbers, or nearly all.
_STORED_AS = {"uint16": DataType.INT32, "uint32": DataType.INT64, "uint64": DataType.INT64}


class Output(Protocol):
    """What is made of some columns of a table, a row for each of its rows."""

    name: str
    column_names: list[str]
    stored: DataType
    row_shape: tuple[int, ...]
    quantised: bool
    missing: float  # what stands in the row of a node that the table does not have

    def convert(self, batch: Any, first: int) -> tuple[NDArray[Any], NDArray[np.float32] | None]:
        """Return rows as they are stored, and the scales of quantised ones, from row ``first`` on."""
        ...


class Attribute:
    """One attribute of a kind of node or edge: the columns it is made of, and how it is stored."""

    def __init__(self, name: str, table: str, columns: Sequence[NumberColumn], *, is_vector: bool, dtype: Any) -> None:
        self.name = name
        self._table = table
        self.columns = columns
        self._is_vector = is_vector
        self._dtype = dtype
        self._converters: dict[np.dtype[Any], ValueConverter] = {}
        self.row_shape: tuple[int, ...] = ()
        self.stored = DataType.FLOAT32
        self.quantised = False
        self.column_names = [column.column for column in columns]
        # Of nodes that only edges name: no class, no number to predict, otherwise zeros.
        fill = columns[0].fill
        self.missing = -1.0 if self.categories and is_vector else fill if name == "y" and fill is not None else 0.0

    @property
    def categories(self) -> list[Categories]:
        """What is numbered in the columns."""
        return [column.categories for column in self.columns if column.categories is not None]

    @property
    def names_of_codes(self) -> list[str] | None:
        """What the integers stand for, if they are codes."""
        only = self.columns[0]
        is_code = self._is_vector and only.categories is not None and not only.one_hot
        return only.categories.names if is_code and only.categories is not None else None

    @property
    def loss(self) -> Loss | None:
        """What rounding did; ``None`` if every number is stored as it was."""
        losses = [loss for converter in self._converters.values() if (loss := converter.loss) is not None]
        return max(losses, key=lambda loss: loss.max_error, default=None)

    def look_at(self, first_rows: Any) -> None:
        """Choose shape and type by some rows, after all categories are known."""
        for column in self.columns:
            if column.one_hot and column.categories is not None:
                column.categories.refuse_many()
        rows = self._rows(first_rows, 0)
        self.row_shape = rows.shape[1:]
        if isinstance(self._dtype, str) and self._dtype.lower().replace("_", "-") == QUANTISED:
            self.stored, self.quantised = DataType.INT8, True
        elif self._dtype is not None and self.names_of_codes is None:  # codes may be -1
            self.stored = as_data_type(self._dtype)
        elif self._is_vector:
            name = rows.dtype.newbyteorder("=").name
            self.stored = _STORED_AS.get(name) or as_data_type(name)
        else:
            self.stored = DataType.FLOAT32

    def convert(self, batch: Any, first: int) -> tuple[NDArray[Any], NDArray[np.float32] | None]:
        """Return the rows of a batch as they are stored, and the scales of quantised ones."""
        rows = self._rows(batch, first)
        if rows.shape[1:] != self.row_shape:
            place = self.columns[0].where(first)
            found = f"expected rows of {self.row_shape} numbers, as before it, found {rows.shape[1:]}"
            raise FormatError(f"{place}: {self.name!r}: {found}")
        converter = self._converters.get(rows.dtype)
        if converter is None:
            converter = self._converters[rows.dtype] = ValueConverter(
                f"{self._table}: {self.name!r}",
                rows.dtype,
                bfloat16=False,
                stored=self.stored,
                quantised=self.quantised,
            )
        return converter.convert(rows, lambda at: f"row {first + at}")

    def _rows(self, batch: Any, first: int) -> NDArray[Any]:
        parts = [column.convert(batch.column(column.column), first) for column in self.columns]
        if self._is_vector:
            return parts[0]
        return np.concatenate([part[:, None] if part.ndim == 1 else part for part in parts], axis=1)

    def describe(self) -> str:
        """Say shape and type."""
        shape = " × ".join(f"{extent:,}" for extent in self.row_shape)
        kind = QUANTISED if self.quantised else name_of(self.stored)
        return f"{shape} {kind}" if shape else kind


class TimeOutput:
    """Times of nodes or edges as an attribute."""

    stored = DataType.INT64
    row_shape: tuple[int, ...] = ()
    quantised = False
    missing = 0.0

    def __init__(self, name: str, column: str, times: TimeColumn) -> None:
        self.name = name
        self.column_names = [column]
        self._times = times

    def convert(self, batch: Any, first: int) -> tuple[NDArray[Any], NDArray[np.float32] | None]:
        """Return the times of a batch."""
        return self._times.convert(batch.column(self.column_names[0]), first), None


class PlacedRows:
    """Rows that come in any order, each with the number of its node, on their way into a file."""

    def __init__(self, path: str, output: Output, num_rows: int, memory: int) -> None:
        self.path = path
        self._num_rows = num_rows
        check_free_space(path, num_rows * row_bytes(output))
        self._placer = _core.RowPlacer(path_bytes(path), output.stored, output.row_shape, output.quantised, memory)

    def add(self, nodes: NDArray[np.int64], rows: NDArray[Any], scales: NDArray[np.float32] | None, first: int) -> None:
        """Add the rows of nodes, which have none yet."""
        lines = np.arange(first, first + len(nodes))
        items = np.ascontiguousarray(rows).reshape(-1).view(np.uint8)
        self._placer.add(nodes, lines, items, scales, self._num_rows)

    def finish(self) -> int | None:
        """Put the file in place; nodes without a row have zeros. Return a node that had two rows, if there is one."""
        self._placer.close(self._num_rows)
        while self._placer.write_range():
            pass
        refused = self._placer.take_refused().first
        self._placer.finish()
        return refused[0].id if refused else None


def row_bytes(output: Output) -> int:
    """Return the size of a row in the file."""
    return numpy_dtype(output.stored).itemsize * math.prod(output.row_shape)


def ordered_rows(path: str, output: Output) -> RowWriter:
    """Return where rows go that come in the order of the file."""
    return RowWriter(path, output.stored, output.row_shape, quantised=output.quantised, num_rows=0)


def attributes_of(
    specs: Sequence[AttributeSpec], table: Table, taken: set[str], dtype: Any, fill: float | None
) -> list[Attribute]:
    """Return the attributes that a user wants of a table. ``taken`` are the columns that are something else."""
    names = [spec.name for spec in specs]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise value_error("features", f"expected names that differ, found {repeated[0]!r} twice")
    return [_attribute(spec, table, taken, dtype, fill) for spec in specs]


def _attribute(spec: AttributeSpec, table: Table, taken: set[str], dtype: Any, fill: float | None) -> Attribute:
    chosen = spec.columns
    if chosen is None:
        chosen = tuple(ColumnSpec(name) for name in table.types if name not in taken and _holds_numbers(table, name))
        if not chosen:
            raise value_error("features", "expected columns of numbers, found none that is not used", where=table.name)
    columns = [number_column(table, column, fill) for column in chosen]
    return Attribute(spec.name, table.name, columns, is_vector=spec.is_vector, dtype=dtype)


def number_column(table: Table, spec: ColumnSpec, fill: float | None = None) -> NumberColumn:
    """Return a column of a table as numbers. Text that holds no numbers must be said to be a category."""
    name = table.column(spec.column, "features")
    as_ = spec.as_
    if as_ is None:
        kind = table.types[name]
        kind = kind.value_type if pyarrow().types.is_dictionary(kind) else kind
        if is_text_type(kind) and not (table.is_text and _holds_numbers(table, name)):
            if table.is_text and _holds_some_numbers(table, name):
                first = table.first_rows([name])
                NumberColumn(name, table.place, fill=0).convert(first.column(0), 0)  # names the first that is none
            raise type_error(
                "features",
                f"column {name!r}: expected numbers, found text; give {{'column': {name!r}, 'as': 'onehot'}} or "
                "'as': 'code' to number its different values",
                where=table.name,
            )
    categories = Categories(name, table.name) if as_ in ("code", "onehot") else None
    return NumberColumn(name, table.place, categories, as_ == "onehot", fill if spec.fill is None else spec.fill)


def _holds_numbers(table: Table, name: str) -> bool:
    """Whether a column holds numbers or lists of them; of a text, by its first rows."""
    types = pyarrow().types
    kind = table.types[name]
    if not table.is_text:
        while is_list_type(kind):
            kind = kind.value_type
        return bool(
            types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)
        )
    first = table.first_rows([name])
    if first is None:
        return True
    try:
        NumberColumn(name, lambda row: "", fill=0).convert(decoded(first.column(0)), 0)
    except FormatError:
        return False
    return True


def _holds_some_numbers(table: Table, name: str) -> bool:
    """Whether there is a number among the first values of a column of text."""
    first = table.first_rows([name])
    values = [] if first is None else first.column(0).to_pylist()
    return any(value is not None and is_number(value.strip()) for value in values)


def text_guess(table: Table, name: str, holds: Callable[[NDArray[Any]], bool]) -> bool:
    """Whether the numbers in the first rows of a column of text are such as ``holds`` says; not if it has none."""
    first = table.first_rows([name])
    try:
        return first is None or holds(NumberColumn(name, lambda row: "", fill=-1).convert(first.column(0), 0))
    except FormatError:
        return False
