"""Parquet and Arrow files as streams of record batches, for edges and rows alike. Needs pyarrow."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._core import FormatError
from graphzero._files.storage import StoredPath, is_data_name, naming, open_ranges

PARQUET = (".parquet", ".pq")


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


def numpy_values(array: Any) -> NDArray[Any]:
    """Return the values of an array without nulls; numbers are not copied.

    ``to_numpy()`` loads pandas where it is installed: 30 MB, and a second of the step of a conversion.
    """
    types, kind = pyarrow().types, array.type
    letter = "i" if types.is_signed_integer(kind) else "u" if types.is_unsigned_integer(kind) else "f"
    if not (types.is_integer(kind) or types.is_floating(kind)):
        values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
        return values
    dtype = np.dtype(f"{letter}{kind.bit_width // 8}")
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.empty(0, dtype)
    return np.frombuffer(buffer, dtype, len(array), array.offset * dtype.itemsize)


def parquet_files(folder: str) -> list[str]:
    """Return the Parquet files below a folder, in sorted order; none if it has none.

    Names that begin with a dot or ``_`` are left out, of folders too: Spark and others use them for what is no data.
    """
    found = []
    for above, folders, files in os.walk(folder):
        folders[:] = filter(is_data_name, folders)
        found += [os.path.join(above, name) for name in files if is_data_name(name) and name.lower().endswith(PARQUET)]
    return sorted(found)


# Bytes of a column that are read at once: in storage, each read is a request.
_READ = 1 << 20
_READ_STORED = 8 << 20
_LEAST_READ = 1 << 16


def open_parquet(path: str, column_bytes: int | None = None) -> Any:
    """Open a Parquet file: only its footer is read. Each of its columns holds ``column_bytes`` when it is read."""
    most = _READ_STORED if isinstance(path, StoredPath) else _READ
    size = most if column_bytes is None else min(most, max(_LEAST_READ, column_bytes))
    source = open_ranges(path) if isinstance(path, StoredPath) else path
    try:
        with naming(path):
            return pyarrow("pyarrow.parquet").ParquetFile(source, pre_buffer=False, buffer_size=size)
    except pyarrow().ArrowException as error:
        raise FormatError(f"{path}: expected a Parquet file, found: {error}") from error


def rows_of_groups(path: str) -> list[int]:
    """Return the number of rows of each row group of a Parquet file."""
    with open_parquet(path) as file:
        return [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]


def parquet_batches(
    path: str, names: list[str], rows: int, groups: range | None = None, *, held: int | None = None
) -> Iterator[Any]:
    """Read the named columns, at most ``rows`` rows at a time; of all row groups, or of these.

    What was read of the file, and waits to be decoded, is about ``held`` bytes, of all columns together.
    """
    pool = pyarrow().default_memory_pool()
    with open_parquet(path, None if held is None else held // max(1, len(names))) as file:
        try:
            chosen = None if groups is None else list(groups)
            with naming(path):
                for batch in file.iter_batches(batch_size=rows, row_groups=chosen, columns=names, use_threads=False):
                    yield batch
                    # Arrow's allocator kept 54 MB of memory that it had used 6 MB of at a time.
                    pool.release_unused()
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
