"""Rows in Arrow form: Parquet and Arrow files, and whatever has ``__arrow_c_stream__``. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import value_error
from graphzero._core import FormatError
from graphzero._files.storage import size_of
from graphzero.convert.arrow_files import (
    column_names,
    ipc_batches,
    numpy_values,
    open_ipc,
    open_parquet,
    parquet_batches,
    pyarrow,
    rows_of_groups,
)
from graphzero.convert.label_lookup import LabelLookup, Labels
from graphzero.convert.row_sources.blocks import Block, Columns, column_positions, id_position, refuse_ids_as_features
from graphzero.ids import packed_labels


class TableFeatures:
    """Columns of record batches. A column of lists of one length is a matrix; several columns stand side by side."""

    # ``read`` yields record batches of some columns, of so many rows and bytes; ``None``: to look at the first one.
    bfloat16 = False

    def __init__(
        self,
        name: str,
        schema: Any,
        num_rows: int | None,
        nbytes: int | None,
        read: Callable[[list[str], tuple[int, int] | None], Iterator[Any]],
        *,
        columns: Columns,
        id_column: str | int | None,
        lookup: LabelLookup | None = None,
        first_row: int = 0,
        groups: list[int] | None = None,
    ) -> None:
        self.name = name
        self.first_row = first_row
        self._groups = groups  # rows of each, of a file that can be cut between them
        self._lookup = lookup
        self.num_rows = num_rows if id_column is None else None
        self.nbytes = nbytes
        self._known_rows = num_rows
        self._read = read
        names = column_names(schema, name)
        self._id = None if id_column is None else names[id_position(id_column, names, len(names), name)]
        rest = [column for column in names if column != self._id]
        chosen = rest if columns is None else [names[i] for i in column_positions(columns, names, len(names), name)]
        if not chosen or self._id in chosen:
            raise value_error("columns", f"expected features, found {chosen}", where=name)
        for column in chosen if self._id is None else [*chosen, self._id]:
            column_positions(column, names, len(names), name)  # the columns of a batch are found by name
        if names and pyarrow().types.is_integer(schema.field(0).type):
            refuse_ids_as_features(names, columns, id_column, name)
        self._columns = chosen
        self._squeeze = isinstance(columns, (str, int))
        self._lengths: dict[str, int] = {}  # of the lists of columns, as in the first row
        # Types and lengths of lists are known from the first rows, not from a schema.
        self._first = self._peek(schema)
        self.dtype = self._first.dtype
        self.row_shape: tuple[int, ...] = self._first.shape[1:]

    def _peek(self, schema: Any) -> NDArray[Any]:
        arrow = pyarrow()
        if all(arrow.types.is_primitive(schema.field(column).type) for column in self._columns):
            fields = [schema.field(column) for column in self._columns]
            empty = [arrow.nulls(0, field.type) for field in fields]  # array() loads pandas
            return self._joined(arrow.RecordBatch.from_arrays(empty, names=self._columns), 0)
        for batch in self._read(self._columns, None):
            if batch.num_rows:
                return self._joined(batch.slice(0, 1), 0)
        raise FormatError(f"{self.name}: expected at least one row to see the length of its lists, found none")

    def ranges(self, count: int) -> list[tuple[int, int]] | None:
        """Cut the row groups of a Parquet file, so that parts have about as many rows each."""
        if self._groups is None:
            return None
        firsts = np.cumsum([0, *self._groups])
        wanted = np.arange(count) * firsts[-1] / count
        begins = np.unique(np.searchsorted(firsts[:-1], wanted)) if self._groups else np.zeros(1, np.int64)
        inside = begins[begins < max(1, len(self._groups))].tolist()
        return list(zip(inside, [*inside[1:], len(self._groups)], strict=True))

    def row_name(self, line: int) -> str:
        """Return the number of the row."""
        return f"row {line}"

    def excerpts(self, lines: Iterable[int]) -> dict[int, str]:
        """Return nothing: such a row is no text."""
        return {}

    def blocks(self, block_bytes: int) -> Iterator[Block]:
        """Read batches of rows."""
        width = self.dtype.itemsize * int(np.prod(self.row_shape, dtype=np.int64))
        at_once = max(1, block_bytes // max(1, width))
        done, end = self.first_row, self.first_row + (self._known_rows or 0)
        names = self._columns if self._id is None else [*self._columns, self._id]
        for batch in self._read(names, (at_once, block_bytes)):
            for start in range(0, batch.num_rows, at_once):
                part = batch.slice(start, at_once)
                rows = self._joined(part, done)
                if rows.shape[1:] != self.row_shape:
                    raise FormatError(
                        f"{self.name}: row {done}: expected {self.row_shape} numbers, found {rows.shape[1:]}"
                    )
                lines = None if self._id is None else np.arange(done, done + len(rows))
                share = 1 - (end - done - len(rows)) / self._known_rows if self._known_rows else 1.0
                block = Block(rows, int(share * (self.nbytes or 0)), None, lines)
                if self._lookup is not None:
                    block.labels = self._labels(part, done, self._lookup)
                elif self._id is not None:
                    block.ids = self._ids(part, done)
                done += len(rows)
                yield block

    def _labels(self, batch: Any, done: int, lookup: LabelLookup) -> Labels:
        types = pyarrow().types
        array = batch.column(batch.schema.get_field_index(self._id))
        kind = array.type.value_type if types.is_dictionary(array.type) else array.type
        is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
        if not (is_text if lookup.kind == "string" else types.is_integer(kind)):
            wanted = {"string": "text", "integer": "integers"}[lookup.kind]
            raise TypeError(
                f"{self.name}: column {self._id!r}: expected {wanted}, as the labels of {lookup.path} are, found {kind}"
            )
        if array.null_count:
            at = int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
            raise FormatError(f"{self.name}: row {done + at}: column {self._id!r}: expected a label, found null")
        return packed_labels(array, lookup.kind, f"{self.name}: column {self._id!r}")

    def _ids(self, batch: Any, done: int) -> NDArray[np.int64]:
        ids = self._values(batch.column(batch.schema.get_field_index(self._id)), str(self._id), done)
        if ids.dtype.kind not in "iu" or ids.ndim != 1:
            raise TypeError(f"{self.name}: column {self._id!r}: expected integers, found {ids.dtype}")
        if ids.dtype == np.uint64 and (ids > np.uint64(2**63 - 1)).any():
            raise ValueError(f"{self.name}: column {self._id!r}: expected ids below 2^59, found {ids.max()}")
        return ids.astype(np.int64)

    def _joined(self, batch: Any, done: int) -> NDArray[Any]:
        arrays = [self._values(batch.column(batch.schema.get_field_index(c)), c, done) for c in self._columns]
        if len(arrays) == 1:
            return arrays[0] if self._squeeze or arrays[0].ndim > 1 else arrays[0][:, None]
        flat = [array[:, None] if array.ndim == 1 else array for array in arrays]
        return np.concatenate(flat, axis=1)

    def _values(self, array: Any, column: str, done: int) -> NDArray[Any]:
        types = pyarrow().types
        if array.null_count:
            at = int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
            raise FormatError(f"{self.name}: row {done + at}: column {column!r}: expected a number, found null")
        is_list = types.is_list(array.type) or types.is_large_list(array.type)
        if is_list or types.is_fixed_size_list(array.type):
            return self._matrix(array, column, done, is_list)
        if not types.is_primitive(array.type) or types.is_temporal(array.type):
            raise TypeError(f"{self.name}: column {column!r}: expected numbers, found {array.type}")
        return numpy_values(array)

    def _matrix(self, array: Any, column: str, done: int, is_list: bool) -> NDArray[Any]:
        if is_list:
            lengths = array.value_lengths().to_numpy(zero_copy_only=False)
            expected = self._lengths.setdefault(column, int(lengths[0])) if len(lengths) else 0
            wrong = np.flatnonzero(lengths != expected)
            if len(wrong):
                raise FormatError(
                    f"{self.name}: row {done + int(wrong[0])}: column {column!r}: expected {expected} numbers, "
                    f"found {lengths[wrong[0]]}"
                )
        flat = array.flatten()
        if flat.null_count:
            at = int(np.argmax(flat.is_null().to_numpy(zero_copy_only=False))) // max(1, len(flat) // len(array))
            raise FormatError(
                f"{self.name}: row {done + at}: column {column!r}: expected numbers, found null in a list"
            )
        items = self._values(flat, column, done)
        return items.reshape(len(array), -1) if len(array) else items.reshape(0, *self.row_shape)


def parquet_features(
    path: str,
    *,
    columns: Columns,
    id_column: str | int | None,
    lookup: LabelLookup | None,
    part: tuple[int, int] | None = None,
) -> TableFeatures:
    """Read a Parquet file, or a range of its row groups, as a stream of record batches."""
    chosen = None if part is None else range(*part)

    def read(names: list[str], block: tuple[int, int] | None) -> Iterator[Any]:
        # The length of lists is that of the first row of the file.
        rows, held = block or (1, 0)
        return parquet_batches(path, names, rows, chosen if block else None, held=held)

    with open_parquet(path) as file:
        schema = file.schema_arrow
    groups = rows_of_groups(path)
    begin, end = part or (0, len(groups))
    return TableFeatures(
        path, schema, sum(groups[begin:end]), size_of(path), read, columns=columns, id_column=id_column, lookup=lookup,
        first_row=sum(groups[:begin]), groups=groups,
    )  # fmt: skip


def ipc_features(
    path: str, *, columns: Columns, id_column: str | int | None, lookup: LabelLookup | None
) -> TableFeatures:
    """Read an Arrow or Feather file; it is mapped, not loaded."""

    def read(names: list[str], block: tuple[int, int] | None) -> Iterator[Any]:
        return ipc_batches(path)

    size = size_of(path)
    return TableFeatures(
        path, open_ipc(path).schema, None, size, read, columns=columns, id_column=id_column, lookup=lookup
    )


def stream_features(
    table: Any, *, columns: Columns, id_column: str | int | None, lookup: LabelLookup | None
) -> TableFeatures:
    """Read anything with ``__arrow_c_stream__``, batch by batch."""
    arrow = pyarrow()
    reader = arrow.RecordBatchReader.from_stream(table)
    held: list[Any] = []  # batches that were read to see the length of lists

    def read(names: list[str], block: tuple[int, int] | None) -> Iterator[Any]:
        if block is not None:
            yield from held
            held.clear()
            yield from reader
            return
        for batch in reader:
            held.append(batch)
            yield batch

    count = getattr(table, "num_rows", None)
    return TableFeatures(
        type(table).__name__,
        reader.schema,
        count if isinstance(count, int) else None,
        None,
        read,
        columns=columns,
        id_column=id_column,
        lookup=lookup,
    )
