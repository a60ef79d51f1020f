"""Parquet and Arrow files as streams of record batches, for edges and rows alike. Needs pyarrow."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from graphzero._core import FormatError
from graphzero._files.storage import StoredPath, naming, open_ranges


def pyarrow(module: str = "pyarrow") -> Any:
    """Import pyarrow, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"Parquet and Arrow data need pyarrow: pip install 'graphzero[arrow]' ({error})") from error


def column_names(schema: Any, name: str) -> list[str]:
    """Return the names of the columns of ``name``, which are text."""
    try:
        return list(schema.names)
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: expected names of columns in UTF-8, found: {error}") from error


# Bytes of a column that are read at once: in storage, each read is a request.
_READ = 1 << 20
_READ_STORED = 8 << 20


def open_parquet(path: str) -> Any:
    """Open a Parquet file: only its footer is read."""
    stored = isinstance(path, StoredPath)
    source = open_ranges(path) if isinstance(path, StoredPath) else path
    try:
        with naming(path):
            return pyarrow("pyarrow.parquet").ParquetFile(
                source, pre_buffer=False, buffer_size=_READ_STORED if stored else _READ
            )
    except pyarrow().ArrowException as error:
        raise FormatError(f"{path}: expected a Parquet file, found: {error}") from error


def rows_of_groups(path: str) -> list[int]:
    """Return the number of rows of each row group of a Parquet file."""
    with open_parquet(path) as file:
        return [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]


def parquet_batches(path: str, names: list[str], rows: int, groups: range | None = None) -> Iterator[Any]:
    """Read the named columns, at most ``rows`` rows at a time; of all row groups, or of these."""
    with open_parquet(path) as file:
        try:
            chosen = None if groups is None else list(groups)
            with naming(path):
                yield from file.iter_batches(batch_size=rows, row_groups=chosen, columns=names, use_threads=False)
        except (pyarrow().ArrowException, OSError) as error:
            if isinstance(path, StoredPath) and isinstance(error, OSError):
                raise
            raise FormatError(f"{path}: expected a Parquet file that is whole, found: {error}") from error


def open_ipc(path: str) -> Any:
    """Open an Arrow IPC file or stream, or a Feather file; it is mapped, or read batch by batch, not loaded."""
    arrow = pyarrow()
    mapped = open_ranges(path) if isinstance(path, StoredPath) else arrow.memory_map(path)
    try:
        if mapped.read(6) == b"ARROW1":
            return arrow.ipc.open_file(mapped)
        mapped.seek(0)
        return arrow.ipc.open_stream(mapped)
    except arrow.ArrowException as error:
        raise FormatError(f"{path}: expected an Arrow file, found: {error}") from error


def ipc_batches(path: str) -> Iterator[Any]:
    """Read the record batches of such a file, as they were written."""
    reader = open_ipc(path)
    try:
        with naming(path):
            if hasattr(reader, "num_record_batches"):
                for i in range(reader.num_record_batches):
                    yield reader.get_batch(i)
            else:
                yield from reader
    except (pyarrow().ArrowException, OSError) as error:
        if isinstance(path, StoredPath) and isinstance(error, OSError):
            raise
        raise FormatError(f"{path}: expected an Arrow file that is whole, found: {error}") from error
