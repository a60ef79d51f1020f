"""Edges in Arrow form: Parquet, Arrow IPC and Feather files, and whatever has ``__arrow_c_stream__``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import Setting, error_of, type_error, value_error
from graphzero.convert.arrow_files import (
    column_names,
    ipc_batches,
    numpy_values,
    open_ipc,
    open_parquet,
    parquet_batches,
    pyarrow,
)
from graphzero.convert.edge_sources.batch import (
    Column,
    EdgeBatch,
    check_ends,
    checked_rows,
    column_name,
    edge_batch,
    usual_ends,
)
from graphzero.convert.edge_sources.time_units import times_in

IPC = (".arrow", ".ipc", ".feather", ".arrows")

_EDGE_BYTES = 32


class ArrowSource:
    """Columns of record batches. Strings are labels; dictionaries are taken as the values they stand for."""

    num_nodes = None
    undirected = False

    def __init__(
        self,
        name: str,
        schema: Any,
        num_edges: int | None,
        read: Callable[[list[str], int], Iterator[Any]],
        columns: tuple[Column, Column, Column, Column],
        *,
        time_unit: str | None = None,
        once: bool = False,
    ) -> None:
        self.name = name
        self.num_edges = num_edges
        self._read = read
        self._once = once
        names = column_names(schema, name)
        if len(names) < 2:
            raise ValueError(f"{name}: expected at least two columns, found {', '.join(names) or 'none'}")
        self._columns = _chosen(names, columns, name)
        self.unused_columns = tuple(column for column in names if column not in self._columns.values())
        for what, column in list(self._columns.items()):
            _check_type(schema.field(column).type, what, column, name)
        self.has_text_ends = any(_is_text(schema.field(self._columns[end]).type) for end in ("src", "dst"))
        times = schema.field(self._columns["time"]).type if "time" in self._columns else None
        own = None if times is None else _unit_of(times)
        is_date = times is not None and pyarrow().types.is_date(times)
        unit = time_unit or ("s" if is_date else own)  # dates are seconds, as in text
        self.time_unit = unit
        self._change_unit = None if own is None or unit is None or own == unit else (own, unit)

    def batches(self, rows: int) -> Iterator[EdgeBatch]:
        """Read ``rows`` edges at a time."""
        checked_rows(rows)
        if self._once:
            self._once = False
            self._read, read = _refuse_second_pass(self.name), self._read
        else:
            read = self._read
        done = 0
        for record in read(list(dict.fromkeys(self._columns.values())), rows):
            for start in range(0, record.num_rows, rows):
                part = record.slice(start, rows)
                values = {
                    what: _values(part.column(column), what, column, self.name, done)
                    for what, column in self._columns.items()
                }
                if self._change_unit is not None:
                    own, unit = self._change_unit
                    values["time"] = times_in(unit, values["time"].astype(np.int64), own, self.name, done)
                done += part.num_rows
                yield edge_batch(values["src"], values["dst"], values.get("weight"), values.get("time"), self.name)


def _refuse_second_pass(name: str) -> Callable[[list[str], int], Iterator[Any]]:
    def refuse(columns: list[str], rows: int) -> Iterator[Any]:
        raise ValueError(f"{name}: this stream can be read once; give a table or a file to read it again")

    return refuse


def _chosen(names: list[str], columns: tuple[Column, Column, Column, Column], name: str) -> dict[str, str]:
    src, dst, weight, time = columns
    if src is None and dst is None:
        src, dst = usual_ends(names)
    elif src is None or dst is None:
        both = Setting("src"), " and ", Setting("dst")
        raise error_of(ValueError, f"{name}: expected both ", *both, f", found one; there are {', '.join(names)}")
    wanted: dict[str, Column] = {"src": src, "dst": dst}
    for what, column in (("weight", weight), ("time", time)):
        if column is not None and column is not False:
            wanted[what] = what if column is True else column
    found = {what: column_name(column, names, what, name) for what, column in wanted.items()}
    check_ends(found["src"], found["dst"], name)
    return found


def _is_text(kind: Any) -> bool:
    types = pyarrow().types
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _check_type(kind: Any, what: str, column: str, name: str) -> None:
    types = pyarrow().types
    text = _is_text(kind)
    if types.is_dictionary(kind):
        kind = kind.value_type
    fits, expected = {
        "src": (types.is_integer(kind) or text, "integers or strings"),
        "dst": (types.is_integer(kind) or text, "integers or strings"),
        "weight": (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind), "numbers"),
        "time": (types.is_integer(kind) or types.is_timestamp(kind) or types.is_date(kind), "integers or timestamps"),
    }[what]
    if not fits:
        raise type_error(what, f"column {column!r}: expected {expected}, found {kind}", where=name)


def _unit_of(kind: Any) -> str | None:
    """Return what a column of times counts, ``"D"`` for days; ``None`` if it holds plain integers."""
    types = pyarrow().types
    if types.is_timestamp(kind):
        return str(kind.unit)
    return "ms" if types.is_date64(kind) else "D" if types.is_date32(kind) else None


def _values(array: Any, what: str, column: str, name: str, done: int) -> NDArray[Any]:
    arrow = pyarrow()
    types = arrow.types
    if array.null_count:
        at = int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
        raise value_error(what, f"column {column!r}, row {done + at}: expected a value, found null", where=name)
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if types.is_timestamp(array.type) or types.is_date64(array.type):
        array = array.cast(arrow.int64())  # the count of its unit, as it is stored
    elif types.is_date32(array.type):
        array = array.cast(arrow.int32())
    elif types.is_decimal(array.type):
        array = array.cast(arrow.float64())
    return numpy_values(array)


def parquet_ranges(path: str, size: int) -> list[tuple[int, int]]:
    """Cut the row groups of a file into ranges of about ``size`` bytes."""
    with open_parquet(path) as file:
        sizes = [file.metadata.row_group(group).total_byte_size for group in range(file.metadata.num_row_groups)]
    begins, held = [0], 0
    for group, group_size in enumerate(sizes):
        if held and held + group_size > size:
            begins.append(group)
            held = 0
        held += group_size
    return list(zip(begins, [*begins[1:], len(sizes)], strict=True))


def parquet_source(
    path: str,
    columns: tuple[Column, Column, Column, Column],
    time_unit: str | None,
    groups: range | None = None,
) -> ArrowSource:
    """Read a Parquet file, or some of its row groups, as a stream of record batches."""

    def read(names: list[str], rows: int) -> Iterator[Any]:
        return parquet_batches(path, names, rows, groups, held=rows * _EDGE_BYTES)

    with open_parquet(path) as file:
        return ArrowSource(path, file.schema_arrow, file.metadata.num_rows, read, columns, time_unit=time_unit)


def ipc_source(path: str, columns: tuple[Column, Column, Column, Column], time_unit: str | None) -> ArrowSource:
    """Read an Arrow IPC file or stream, or a Feather file; it is mapped, not loaded."""

    def read(names: list[str], rows: int) -> Iterator[Any]:
        return ipc_batches(path)

    return ArrowSource(path, open_ipc(path).schema, None, read, columns, time_unit=time_unit)


def is_arrow_dataset(value: Any) -> bool:
    """Whether it looks like a ``pyarrow.dataset.Dataset``."""
    return hasattr(value, "scanner") and hasattr(value, "schema")


def dataset_source(dataset: Any, columns: tuple[Column, Column, Column, Column], time_unit: str | None) -> ArrowSource:
    """Read a ``pyarrow.dataset.Dataset``, in order."""

    def read(names: list[str], rows: int) -> Iterator[Any]:
        yield from dataset.to_batches(columns=names, batch_size=rows, batch_readahead=1, fragment_readahead=1)

    return ArrowSource("dataset", dataset.schema, None, read, columns, time_unit=time_unit)


def stream_source(table: Any, columns: tuple[Column, Column, Column, Column], time_unit: str | None) -> ArrowSource:
    """Read anything with ``__arrow_c_stream__``; columns are not copied where their memory allows."""
    arrow = pyarrow()
    name = type(table).__name__
    reader = arrow.RecordBatchReader.from_stream(table)
    once = isinstance(table, arrow.RecordBatchReader)
    unread = [reader]  # the first pass uses the reader that had the schema

    def read(names: list[str], rows: int) -> Iterator[Any]:
        yield from unread.pop() if unread else arrow.RecordBatchReader.from_stream(table)

    num_rows = getattr(table, "num_rows", None)
    if num_rows is None and hasattr(table, "__len__"):
        num_rows = len(table)
    num_edges = num_rows if isinstance(num_rows, int) else None
    return ArrowSource(name, reader.schema, num_edges, read, columns, time_unit=time_unit, once=once)
