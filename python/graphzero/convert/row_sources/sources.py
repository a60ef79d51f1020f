"""Whatever holds rows of numbers, as blocks of rows: arrays, tensors, files, matrices, iterables."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.arrays import as_numpy, cpu_tensor
from graphzero._base.dtypes import DataType, numpy_dtype
from graphzero._core import FormatError
from graphzero._files.folder import check_regular
from graphzero._files.storage import StoredPath, first_bytes, open_bytes, path_here, size_of
from graphzero.convert.edge_sources.array_file import NPY_MAGIC, ArrayFile, npy_file, npz_file, npz_members, read_items
from graphzero.convert.edge_sources.torch_files import load_pt
from graphzero.convert.label_lookup import LabelLookup
from graphzero.convert.row_sources.blocks import Block, Columns, FeatureSource, column_positions, even_ranges
from graphzero.features import FeatureStore


class _Numbered:
    """Rows that are known by their number alone."""

    first_row = 0

    def ranges(self, count: int) -> list[tuple[int, int]] | None:
        """Return nothing: it is read as a whole."""
        return None

    def row_name(self, line: int) -> str:
        """Return the number of the row."""
        return f"row {line}"

    def excerpts(self, lines: Iterable[int]) -> dict[int, str]:
        """Return nothing: such a row is no text."""
        return {}


class ArrayFeatures(_Numbered):
    """An array in memory or mapped: NumPy, torch, or a mounted ``.gd`` file."""

    def __init__(self, name: str, array: NDArray[Any], *, bfloat16: bool = False, columns: Columns = None) -> None:
        if array.ndim == 0:
            raise ValueError(f"{name}: expected at least one dimension, found a scalar")
        self.name = name
        self._array = array
        self._columns = _array_columns(columns, array.shape, name)
        self.dtype = array.dtype
        self.bfloat16 = bfloat16
        self.num_rows: int | None = len(array)
        self.nbytes: int | None = array.nbytes
        self.row_shape = _row_shape(array.shape, self._columns)

    def blocks(self, block_bytes: int) -> Iterator[Block]:
        """Slice the array."""
        at_once = _rows_at_once(block_bytes, self._array.dtype, self._array.shape)
        for start in range(0, len(self._array), at_once):
            rows = self._array[start : start + at_once]
            yield Block(_chosen(rows, self._columns), min(start + at_once, len(self._array)) * _row_bytes(self._array))


class StoreFeatures(_Numbered):
    """A mounted ``.gd`` file by id: reordered rows in order, quantised ones as the float32 they stand for."""

    def __init__(self, store: FeatureStore, *, columns: Columns = None) -> None:
        self.name = store.path
        self._store = store
        self._columns = _array_columns(columns, store.shape, self.name)
        self.dtype = np.dtype(np.float32) if store.quantised else numpy_dtype(store.data_type)
        self.bfloat16 = store.data_type is DataType.BFLOAT16
        self.num_rows: int | None = store.num_rows
        self.nbytes: int | None = store.nbytes
        self.row_shape = _row_shape(store.shape, self._columns)

    def blocks(self, block_bytes: int) -> Iterator[Block]:
        """Slice the array or gather from it, and multiply rows by their scales."""
        store = self._store
        stored = None if store.reordered else store.get_tensor(writable=False, access="sequential")
        at_once = _rows_at_once(block_bytes, self.dtype, store.shape)
        for start in range(0, store.num_rows, at_once):
            ids = np.arange(start, min(start + at_once, store.num_rows))
            rows = store.gather(ids) if stored is None else stored[start : start + at_once]
            if store.quantised:
                rows = rows.astype(np.float32) * store.scales_of(ids).reshape(-1, *(1,) * (rows.ndim - 1))
            yield Block(_chosen(rows, self._columns), (start + len(rows)) * store.row_bytes)


class FileFeatures(_Numbered):
    """An array in a file: ``.npy``, a member of an ``.npz``, or raw. Read at its offset, not mapped."""

    bfloat16 = False

    def __init__(
        self,
        array: ArrayFile,
        *,
        bfloat16: bool = False,
        columns: Columns = None,
        part: tuple[int, int] | None = None,
    ) -> None:
        if not array.shape:
            raise ValueError(f"{array.name}: expected at least one dimension, found a scalar")
        self.name = array.name
        self.bfloat16 = bfloat16
        self._array = array
        self._columns = _array_columns(columns, array.shape, array.name)
        self.dtype = array.dtype
        self._width = int(np.prod(array.shape[1:], dtype=np.int64))
        self.first_row, self._end = part or (0, array.shape[0])
        count = self._end - self.first_row
        self.num_rows: int | None = count
        self.nbytes: int | None = count * self._width * array.dtype.itemsize
        self.row_shape = _row_shape(array.shape, self._columns)

    def ranges(self, count: int) -> list[tuple[int, int]] | None:
        """Cut the rows; those of a deflated member are read as a whole."""
        return None if self._array.deflated else even_ranges(self._array.shape[0], count)

    @property
    def bytes_at(self) -> tuple[str, int] | None:
        """Path and offset of the rows, if they lie in the file as they are stored; a bool there may be any byte."""
        flat = not self._array.fortran_order or len(self._array.shape) == 1
        as_stored = flat and self.dtype.isnative and self.dtype != np.bool_
        near = not isinstance(self._array.path, StoredPath)
        if near and self._array.member is None and self._columns is None and as_stored:
            return self._array.path, self._array.offset + self.first_row * self._width * self.dtype.itemsize
        return None

    def blocks(self, block_bytes: int) -> Iterator[Block]:
        """Read rows in order; of an array in Fortran order, a block of each column at a time."""
        array, width = self._array, self._width
        at_once = _rows_at_once(block_bytes, array.dtype, array.shape)
        if array.fortran_order and len(array.shape) > 1:
            yield from self._blocks_of_columns(block_bytes)
            return
        with array.open() as file:
            if self.first_row:
                file.seek(array.offset + self.first_row * width * array.dtype.itemsize)
            for start in range(self.first_row, self._end, at_once):
                part = min(at_once, self._end - start)
                rows = read_items(file, part * width, array.dtype, array.name).reshape(part, *array.shape[1:])
                yield Block(_chosen(rows, self._columns), self._done(start + part))

    def _done(self, row: int) -> int:
        return (row - self.first_row) * self._width * self.dtype.itemsize

    def _blocks_of_columns(self, block_bytes: int) -> Iterator[Block]:
        array = self._array
        if array.member is not None:
            raise ValueError(
                f"{array.name}: is deflated and in Fortran order, so its rows cannot be streamed: unpack it, or save "
                "it in C order"
            )
        count, width = array.shape[0], self._width
        at_once = _rows_at_once(block_bytes, array.dtype, array.shape)
        with open_bytes(array.path) as file:
            for start in range(self.first_row, self._end, at_once):
                part = min(at_once, self._end - start)
                columns = np.empty((width, part), array.dtype)
                for i in range(width):
                    file.seek(array.offset + (i * count + start) * array.dtype.itemsize)
                    columns[i] = read_items(file, part, array.dtype, array.name)
                # Dimensions lie in the file in reverse.
                rows = columns.reshape(*array.shape[:0:-1], part).transpose()
                yield Block(_chosen(rows, self._columns), self._done(start + part))


class SparseFeatures(_Numbered):
    """A scipy sparse matrix, made dense a block of rows at a time."""

    bfloat16 = False

    def __init__(self, matrix: Any, *, columns: Columns = None) -> None:
        self.name = type(matrix).__name__
        self._matrix = matrix.tocsr()
        self._columns = _array_columns(columns, matrix.shape, self.name)
        self.dtype: np.dtype[Any] = matrix.dtype
        self.num_rows: int | None = matrix.shape[0]
        self.nbytes: int | None = matrix.shape[0] * matrix.shape[1] * self.dtype.itemsize
        self.row_shape = _row_shape(matrix.shape, self._columns)

    def blocks(self, block_bytes: int) -> Iterator[Block]:
        """Slice the matrix."""
        at_once = _rows_at_once(block_bytes, self.dtype, self._matrix.shape)
        width = self._matrix.shape[1] * self.dtype.itemsize
        for start in range(0, self._matrix.shape[0], at_once):
            rows = self._matrix[start : start + at_once].toarray()
            yield Block(_chosen(rows, self._columns), (start + len(rows)) * width)


class IterableFeatures(_Numbered):
    """Blocks of rows that someone else makes: arrays of one dtype and one row shape."""

    def __init__(self, blocks: Iterable[Any], *, columns: Columns = None) -> None:
        self.name = "source"
        self.num_rows: int | None = None
        self.nbytes: int | None = None
        self._iterator = iter(blocks)
        self._given = columns
        try:
            first = next(self._iterator)
        except StopIteration:
            raise value_error("source", "expected at least one block of rows, to see their type, found none") from None
        self._first, self.bfloat16 = _block_array(first, 0)
        self._shape = self._first.shape[1:]
        self.dtype = self._first.dtype
        self._columns = _array_columns(columns, self._first.shape, self.name)
        self.row_shape = _row_shape(self._first.shape, self._columns)

    def blocks(self, block_bytes: int) -> Iterator[Block]:
        """Pass on what comes, in pieces no larger than asked for."""
        number, done = 0, 0
        array: NDArray[Any] | None = self._first
        at_once = _rows_at_once(block_bytes, self.dtype, self._first.shape)
        while array is not None:
            if array.shape[1:] != self._shape or array.dtype != self.dtype:
                raise value_error(
                    "source",
                    f"block {number}: expected rows of {self.dtype} {self._shape} as in block 0, "
                    f"found {array.dtype} {array.shape[1:]}",
                )
            for start in range(0, len(array), at_once):
                rows = array[start : start + at_once]
                done += rows.nbytes
                yield Block(_chosen(rows, self._columns), done)
            number += 1
            following = next(self._iterator, None)
            array = None if following is None else _block_array(following, number)[0]


def feature_source(
    source: Any,
    *,
    key: str | None,
    shape: tuple[int, ...] | None,
    dtype: Any,
    columns: Columns,
    id_column: Any,
    lookup: LabelLookup | None = None,
    part: tuple[int, int] | None = None,
) -> FeatureSource | None:
    """Return ``source`` as blocks of rows, or ``None`` if it is the path of a text file.

    ``dtype`` is that of raw bytes, ``shape`` says that a file holds nothing else. With a ``lookup``, the column of ids
    holds labels. ``part`` is one of the ranges of a file.
    """
    if isinstance(source, (str, os.PathLike)):
        return _path_source(path_here(source), key, shape, dtype, columns, id_column, lookup, part)
    if hasattr(source, "__arrow_c_stream__"):
        from graphzero.convert.row_sources.tables import stream_features

        return stream_features(source, columns=columns, id_column=id_column, lookup=lookup)
    _refuse_ids(id_column, type(source).__name__)
    if isinstance(source, FeatureStore):
        return _store_source(source, columns)
    if hasattr(source, "tocsr") and hasattr(source, "nnz"):
        return SparseFeatures(source, columns=columns)
    is_file = hasattr(source, "read")  # files have a detach too, as tensors do
    if not is_file and (hasattr(source, "detach") or hasattr(source, "__array__") or isinstance(source, (list, tuple))):
        array, bfloat16 = _block_array(source, None)
        return ArrayFeatures("source", array, bfloat16=bfloat16, columns=columns)
    if isinstance(source, Iterable) and not is_file and not isinstance(source, (bytes, Mapping)):
        return IterableFeatures(source, columns=columns)
    raise type_error(
        "source",
        "expected a path, an array, a tensor, a table, a sparse matrix, a FeatureStore or an iterable of row "
        f"blocks, found {type(source).__name__}",
    )


def _path_source(
    path: str,
    key: str | None,
    shape: tuple[int, ...] | None,
    dtype: Any,
    columns: Columns,
    id_column: Any,
    lookup: LabelLookup | None,
    part: tuple[int, int] | None,
) -> FeatureSource | None:
    check_regular(path)
    start = first_bytes(path, 8)
    suffix = os.path.splitext(path)[1].lower()
    if start.startswith(b"PAR1"):
        from graphzero.convert.row_sources.tables import parquet_features

        return parquet_features(path, columns=columns, id_column=id_column, lookup=lookup, part=part)
    if start.startswith(b"ARROW1") or suffix in (".arrow", ".ipc", ".feather", ".arrows"):
        from graphzero.convert.row_sources.tables import ipc_features

        return ipc_features(path, columns=columns, id_column=id_column, lookup=lookup)
    found: FeatureSource | None = None
    if start.startswith(NPY_MAGIC):
        found = FileFeatures(npy_file(path), columns=columns, part=part)
    elif start in (b"GRAPHZGD", b"GZDATA26"):
        found = _store_source(FeatureStore(path), columns)
    elif suffix in (".pt", ".pth"):
        array, bfloat16 = _block_array(_tensor_of(path, key), None)
        found = ArrayFeatures(path, array, bfloat16=bfloat16, columns=columns)
    elif start.startswith(b"PK"):
        found = FileFeatures(npz_file(path, _member(path, key)), columns=columns, part=part)
    elif shape is not None and dtype is not None and suffix not in (".csv", ".tsv", ".txt", ".gz", ".zst"):
        bits = str(dtype) in ("bfloat16", "torch.bfloat16") or dtype is DataType.BFLOAT16
        found = FileFeatures(_raw_file(path, shape, dtype, bits), bfloat16=bits, columns=columns, part=part)
    elif suffix in (".npy", ".npz", ".bin", ".raw"):
        raise FormatError(
            f"{path}: expected a NumPy header, found {start!r}: for raw items pass shape=(rows, columns) and dtype="
        )
    if found is not None:
        _refuse_ids(id_column, path)
    return found


def _refuse_ids(id_column: Any, name: str) -> None:
    if id_column is not None:
        raise value_error(
            "id_column", "expected a text file or a table, which have columns; found an array", where=name
        )


def _store_source(store: FeatureStore, columns: Columns) -> FeatureSource:
    if store.quantised or store.reordered:
        return StoreFeatures(store, columns=columns)
    array = store.get_tensor(writable=False, access="sequential")
    return ArrayFeatures(store.path, array, bfloat16=store.data_type is DataType.BFLOAT16, columns=columns)


def _member(path: str, key: str | None) -> str:
    members = npz_members(path)
    if key is None and len(members) == 1:
        return members[0]
    if key not in members:
        raise value_error(
            "key", f"expected one of its arrays, {', '.join(members) or 'none'}, found {key!r}", where=path
        )
    return key


def _tensor_of(path: str, key: str | None) -> Any:
    found = load_pt(path, mapped=True)
    if isinstance(found, Mapping):
        if key is None and len(found) == 1:
            return next(iter(found.values()))
        if key not in found:
            raise value_error("key", f"expected one of {', '.join(map(str, found))}, found {key!r}", where=path)
        return found[key]
    return found


def _raw_file(path: str, shape: tuple[int, ...], dtype: Any, bfloat16: bool) -> ArrayFile:
    items = np.dtype(np.uint16) if bfloat16 else np.dtype(dtype.name.lower() if isinstance(dtype, DataType) else dtype)
    size = size_of(path)
    row_bytes = items.itemsize * int(np.prod(shape[1:], dtype=np.int64))
    if shape[0] == -1:
        shape = (size // max(1, row_bytes), *shape[1:])
    if shape[0] * row_bytes != size:
        raise FormatError(
            f"{path}: expected {shape[0] * row_bytes} bytes for raw {items} of shape {shape}, found {size}"
        )
    return ArrayFile(path, path, items, tuple(map(int, shape)), False, 0)


def _block_array(values: Any, number: int | None) -> tuple[NDArray[Any], bool]:
    name = "source" if number is None else f"source: block {number}"
    if str(getattr(values, "dtype", "")) == "torch.bfloat16":
        torch = importlib.import_module("torch")
        return cpu_tensor(values, name).contiguous().view(torch.int16).numpy().view(np.uint16), True
    array = as_numpy(values, name)
    if array.ndim == 0:
        raise ValueError(f"{name}: expected at least one dimension, found a scalar")
    if array.dtype.kind not in "iufb":
        raise TypeError(f"{name}: expected numbers, found {array.dtype}")
    return array, False


def _array_columns(columns: Columns, shape: tuple[int, ...], name: str) -> int | list[int] | None:
    if columns is None:
        return None
    if len(shape) != 2:
        raise value_error("columns", f"expected a matrix to choose them from, found shape {shape}", where=name)
    positions = column_positions(columns, (), shape[1], name)
    return positions[0] if isinstance(columns, (str, int)) else positions


def _row_shape(shape: tuple[int, ...], columns: int | list[int] | None) -> tuple[int, ...]:
    if columns is None:
        return tuple(shape[1:])
    return () if isinstance(columns, int) else (len(columns),)


def _chosen(rows: NDArray[Any], columns: int | list[int] | None) -> NDArray[Any]:
    return rows if columns is None else rows[:, columns]


def _row_bytes(array: NDArray[Any]) -> int:
    return array.dtype.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))


def _rows_at_once(block_bytes: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
    return max(1, block_bytes // max(1, dtype.itemsize * int(np.prod(shape[1:], dtype=np.int64))))
