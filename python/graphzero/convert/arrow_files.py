"""Parquet and Arrow files as streams of record batches, for edges and rows alike. Needs pyarrow."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from graphzero._core import FormatError


def pyarrow(module: str = "pyarrow") -> Any:
    """Import pyarrow, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"Parquet and Arrow data need pyarrow: pip install graphzero[arrow] ({error})") from error


def column_names(schema: Any, name: str) -> list[str]:
    """Return the names of the columns of ``name``, which are text."""
    try:
        return list(schema.names)
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: expected names of columns in UTF-8, found: {error}") from error


def open_parquet(path: str) -> Any:
    """Open a Parquet file: only its footer is read."""
    try:
        return pyarrow("pyarrow.parquet").ParquetFile(path, pre_buffer=False)
    except pyarrow().ArrowException as error:
        raise FormatError(f"{path}: expected a Parquet file, found: {error}") from error


def parquet_batches(path: str, names: list[str], rows: int) -> Iterator[Any]:
    """Read the named columns, at most ``rows`` rows at a time."""
    with open_parquet(path) as file:
        try:
            yield from file.iter_batches(batch_size=rows, columns=names, use_threads=False)
        except (pyarrow().ArrowException, OSError) as error:
            raise FormatError(f"{path}: expected a Parquet file that is whole, found: {error}") from error


def open_ipc(path: str) -> Any:
    """Open an Arrow IPC file or stream, or a Feather file; it is mapped, not loaded."""
    arrow = pyarrow()
    mapped = arrow.memory_map(path)
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
        if hasattr(reader, "num_record_batches"):
            for i in range(reader.num_record_batches):
                yield reader.get_batch(i)
        else:
            yield from reader
    except (pyarrow().ArrowException, OSError) as error:
        raise FormatError(f"{path}: expected an Arrow file that is whole, found: {error}") from error
