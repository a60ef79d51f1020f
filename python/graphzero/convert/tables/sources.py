"""Whatever holds a table, as a table that can be read several times. Needs pyarrow."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from graphzero._base.argument_errors import type_error, value_error
from graphzero._core import FormatError
from graphzero._files.folder import check_regular
from graphzero._files.storage import first_bytes, is_url
from graphzero.convert.arrow_files import (
    column_names,
    ipc_batches,
    open_ipc,
    open_parquet,
    parquet_batches,
    parquet_files,
    pyarrow,
)
from graphzero.convert.stored import stored_paths
from graphzero.convert.tables.arrow_types import is_text_type
from graphzero.convert.tables.table import Part, Table
from graphzero.convert.tables.text_table import TextForm, text_part
from graphzero.convert.text import refuse_own_file, text_paths

_READ_WITH = "read it with polars or pandas and give the frame"
_OTHER_TABLES = {
    **dict.fromkeys(
        [".json", ".jsonl", ".ndjson", ".xls", ".xlsx", ".ods", ".orc", ".avro", ".h5", ".pkl"], _READ_WITH
    ),
    **dict.fromkeys([".db", ".sqlite", ".sqlite3", ".duckdb"], "give the result of a query"),
    **dict.fromkeys([".npy", ".npz", ".pt"], "give {'name': array} of its columns"),
}

# How pandas calls an index that has no name.
_PANDAS_INDEX = "__index_level_"

# Rows of a database's cursor that are held as Python objects at a time.
_CURSOR_ROWS = 1 << 14


def open_table(source: Any, form: TextForm, folder: str, block: int) -> Table:
    """Return the table of a path, a glob, a folder of Parquet, several of these, a frame, a stream or a cursor.

    What can be read only once is copied to a file in ``folder``. ``block`` is how many bytes of text are parsed at a
    time.
    """
    if isinstance(source, (str, os.PathLike)):
        return _file_table(_paths(os.fsdecode(source)), form, block)
    if isinstance(source, (list, tuple)):
        if not source or not all(isinstance(path, (str, os.PathLike)) for path in source):
            raise type_error("source", f"expected paths of files, found {_shown(source)}")
        return _file_table([path for given in source for path in _paths(os.fsdecode(given))], form, block)
    arrow = pyarrow()
    if isinstance(source, arrow.RecordBatch):
        source = arrow.Table.from_batches([source])
    name = type(source).__name__
    if isinstance(source, dict):
        source = _dict_table(source)
    if isinstance(source, arrow.RecordBatchReader):
        return _copied_table(source, name, folder)
    if hasattr(source, "scanner") and hasattr(source, "schema"):
        return _arrow_dataset_table(source, name)
    if hasattr(source, "sink_ipc"):  # a query of polars that has not run
        return _lazy_frame_table(source, name, folder)
    for method in ("to_arrow_reader", "fetch_record_batch"):  # DuckDB and ADBC
        if hasattr(source, method):
            return _copied_table(getattr(source, method)(), name, folder)
    if hasattr(source, "__arrow_c_stream__"):
        if _count(source) is None:  # it may be one that can be read once
            return _copied_table(arrow.RecordBatchReader.from_stream(source), name, folder)
        return _stream_table(source, name)
    if hasattr(source, "fetchmany") and getattr(source, "description", None):
        return _copied_table(_cursor_reader(source), name, folder)
    if hasattr(source, "iloc"):  # of pandas before 2.2
        return _stream_table(arrow.Table.from_pandas(source, preserve_index=False), name)
    raise type_error(
        "source",
        "expected a path, several paths, a frame, an Arrow table, anything with __arrow_c_stream__, or the result of a "
        f"query, found {name}",
    )


def _dict_table(columns: dict[Any, Any]) -> Any:
    """Return columns in memory as a table; a matrix is a column of lists."""
    arrow = pyarrow()
    try:
        return arrow.table(
            {str(name): list(values) if getattr(values, "ndim", 1) == 2 else values for name, values in columns.items()}
        )
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, ValueError, TypeError) as error:
        raise value_error(
            "source", f"expected columns of one length, of one kind of value each, found: {error}"
        ) from None


def _shown(source: Any) -> str:
    return f"a list of {type(source[0]).__name__}" if source else "an empty list"


def _paths(path: str) -> list[str]:
    if is_url(path):
        return text_paths(stored_paths(path)) or []
    if os.path.isdir(path):
        found = parquet_files(path)
        if not found:
            raise FormatError(f"{path}: expected files that end in .parquet in this folder, found none")
        return found
    return text_paths(path) or []


def _file_table(paths: list[str], form: TextForm, block: int) -> Table:
    tables = [_one_file(path, form, block) for path in paths]
    first = tables[0]
    for other in tables[1:]:
        if list(other.types) != list(first.types) and set(other.types) != set(first.types):
            raise FormatError(
                f"{other.name}: expected the columns of {first.name}, {', '.join(first.types)}, found "
                f"{', '.join(other.types)}"
            )
        if other.is_text != first.is_text:
            raise FormatError(f"{other.name}: expected a file of the same kind as {first.name}")
        differing = [name for name in first.types if _family(other.types[name]) != _family(first.types[name])]
        if differing:
            name = differing[0]
            raise FormatError(
                f"{other.name}: column {name!r}: expected {first.types[name]}, as in {first.name}, found "
                f"{other.types[name]}"
            )
    name = first.name if len(tables) == 1 else f"{first.name} and {len(tables) - 1} more"
    return Table(name, first.types, [part for table in tables for part in table.parts], first.is_text)


def _family(kind: Any) -> str:
    """Return what columns of files that belong together must have in common; widths may differ."""
    types = pyarrow().types
    if types.is_dictionary(kind):
        kind = kind.value_type
    families = {"integer": types.is_integer, "floating": types.is_floating, "text": is_text_type}
    return next((name for name, holds in families.items() if holds(kind)), str(kind))


def _one_file(path: str, form: TextForm, block: int) -> Table:
    check_regular(path)
    start = first_bytes(path, 8)
    suffix = os.path.splitext(path)[1].lower()
    if start.startswith(b"PAR1"):
        with open_parquet(path) as file:
            types = _types(file.schema_arrow, path)
            count = file.metadata.num_rows

        def parquet(columns: Sequence[str], rows: int) -> Iterator[Any]:
            return parquet_batches(path, list(columns), rows)

        return Table(path, types, [Part(path, count, parquet)])
    if start.startswith(b"ARROW1") or suffix in (".arrow", ".ipc", ".feather", ".arrows"):
        types = _types(open_ipc(path).schema, path)

        def ipc(columns: Sequence[str], rows: int) -> Iterator[Any]:
            return (batch.select(list(columns)) for batch in ipc_batches(path))

        return Table(path, types, [Part(path, None, ipc)])
    refuse_own_file(path)
    if suffix in _OTHER_TABLES:
        raise FormatError(f"{path}: expected CSV, TSV, Parquet or Arrow, found {suffix}; {_OTHER_TABLES[suffix]}")
    part, names = text_part(path, form, block)
    return Table(path, dict.fromkeys(names, pyarrow().string()), [part], is_text=True)


def _types(schema: Any, name: str) -> dict[str, Any]:
    names = column_names(schema, name)
    repeated = [column for column in names if names.count(column) > 1]
    if repeated:
        raise FormatError(f"{name}: expected names of columns that differ, found {repeated[0]!r} twice")
    return {column: schema.field(column).type for column in names}


def _stream_table(source: Any, name: str) -> Table:
    """Read a frame or a table, which makes a new stream each time it is asked."""
    arrow = pyarrow()
    schema = arrow.RecordBatchReader.from_stream(source).schema

    def read(columns: Sequence[str], rows: int) -> Iterator[Any]:
        return (batch.select(list(columns)) for batch in arrow.RecordBatchReader.from_stream(source))

    types = {column: kind for column, kind in _types(schema, name).items() if not column.startswith(_PANDAS_INDEX)}
    return Table(name, types, [Part(name, _count(source), read)])


def _count(source: Any) -> int | None:
    """Return the rows of a frame or a table."""
    count = getattr(source, "num_rows", None)
    if count is None and hasattr(source, "__len__"):
        count = len(source)
    return count if isinstance(count, int) else None


def _arrow_dataset_table(dataset: Any, name: str) -> Table:
    def read(columns: Sequence[str], rows: int) -> Iterator[Any]:
        yield from dataset.to_batches(columns=list(columns), batch_size=rows, batch_readahead=1, fragment_readahead=1)

    return Table(name, _types(dataset.schema, name), [Part(name, None, read)])


def _copied_table(reader: Any, name: str, folder: str) -> Table:
    """Copy what can be read only once."""
    path = _new_file(folder)
    with pyarrow().OSFile(path, "wb") as file, pyarrow().ipc.new_stream(file, reader.schema) as out:
        for batch in reader:
            out.write_batch(batch)
    return _copy(path, name)


def _lazy_frame_table(frame: Any, name: str, folder: str) -> Table:
    path = _new_file(folder)
    frame.sink_ipc(path)
    return _copy(path, name)


def _new_file(folder: str) -> str:
    path = os.path.join(folder, f"table-{os.urandom(8).hex()}.arrow")
    open(path, "xb").close()
    return path


def _copy(path: str, name: str) -> Table:
    def read(columns: Sequence[str], rows: int) -> Iterator[Any]:
        return (batch.select(list(columns)) for batch in ipc_batches(path))

    return Table(name, _types(open_ipc(path).schema, name), [Part(name, None, read)])


def _cursor_reader(cursor: Any) -> Any:
    """Read the rows of a DB-API cursor. A column has the type of its values among the first rows."""
    arrow = pyarrow()
    names = [str(column[0]) for column in cursor.description]
    first = cursor.fetchmany(_CURSOR_ROWS)

    def blocks() -> Iterator[Any]:
        block = first
        while block:  # drivers end with an empty list, an empty tuple or nothing
            yield list(zip(*block, strict=True))
            block = cursor.fetchmany(_CURSOR_ROWS)

    def batches() -> Iterator[Any]:
        for columns in blocks():
            with _one_type_each():
                arrays = [arrow.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
            yield arrow.RecordBatch.from_arrays(arrays, schema=schema)

    with _one_type_each():
        columns = next(blocks(), [()] * len(names))
        schema = arrow.schema([(name, _value_type(values)) for name, values in zip(names, columns, strict=True)])
    return arrow.RecordBatchReader.from_batches(schema, batches())


@contextmanager
def _one_type_each() -> Iterator[None]:
    arrow = pyarrow()
    try:
        yield
    except (arrow.ArrowInvalid, arrow.ArrowTypeError) as error:
        raise value_error(
            "source", f"expected a query whose columns each have values of one type, found: {error}"
        ) from None


def _value_type(values: Sequence[Any]) -> Any:
    arrow = pyarrow()
    kind = arrow.array(values).type
    return arrow.string() if arrow.types.is_null(kind) else kind
