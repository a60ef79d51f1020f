"""Edges of scipy sparse matrices and of the files ``scipy.sparse.save_npz`` writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from numpy.typing import NDArray

from graphzero._base.argument_errors import value_error
from graphzero._core import FormatError
from graphzero.convert.edge_sources.array_file import ArrayFile, npz_file, npz_members, read_items
from graphzero.convert.edge_sources.batch import EdgeBatch, NodeCount, checked_rows, edge_batch
from graphzero.convert.edge_sources.in_memory import ArraySource
from graphzero.convert.edge_sources.neighbor_lists import expand, from_array, from_file
from graphzero.convert.edge_sources.numpy_files import NumpyFileSource


class CompressedSource:
    """A compressed sparse matrix; an entry in row i and column j is the edge i → j."""

    undirected = False

    def __init__(
        self,
        name: str,
        shape: tuple[int, int],
        by_row: bool,
        indptr: NDArray[Any] | ArrayFile,
        indices: NDArray[Any] | ArrayFile,
        weight: NDArray[Any] | ArrayFile | None,
    ) -> None:
        self.name = name
        self.num_nodes = matrix_nodes(shape)
        self.num_edges: int = indices.size
        self._num_lists = shape[0 if by_row else 1]
        self._by_row = by_row
        self._arrays = indptr, indices, weight
        if indptr.size != self._num_lists + 1:
            raise FormatError(f"{name}: indptr: expected {self._num_lists + 1} offsets, found {indptr.size}")
        if weight is not None and weight.size != self.num_edges:
            raise FormatError(f"{name}: data: expected {self.num_edges} values, found {weight.size}")

    def batches(self, rows: int) -> Iterator[EdgeBatch]:
        """Read ``rows`` edges at a time, row by row (column by column if it is stored so)."""
        checked_rows(rows)
        with ExitStack() as stack:
            offsets, entries, weights = (
                None
                if array is None
                else from_file(array, stack)
                if isinstance(array, ArrayFile)
                else from_array(array)
                for array in self._arrays
            )
            assert offsets is not None
            assert entries is not None
            for owner, other in expand(offsets, entries, self._num_lists, self.num_edges, rows, self.name):
                src, dst = (owner, other) if self._by_row else (other, owner)
                yield edge_batch(src, dst, None if weights is None else weights(len(owner)), None, self.name)


def matrix_nodes(shape: tuple[int, int]) -> NodeCount:
    """Return the nodes of an adjacency matrix: rows and columns are the same ones if it is square."""
    rows, columns = int(shape[0]), int(shape[1])
    return rows if rows == columns else (rows, columns)


def is_scipy(value: Any) -> bool:
    """Whether it looks like a scipy sparse matrix or array."""
    return hasattr(value, "tocoo") and hasattr(value, "nnz") and hasattr(value, "format")


def scipy_source(matrix: Any, *, weight: Any = None) -> ArraySource | CompressedSource:
    """Read the entries of a scipy sparse matrix; their values are weights unless ``weight=False``."""
    if matrix.ndim != 2:
        raise value_error("matrix", f"expected two dimensions, found shape {matrix.shape}")
    if matrix.format in ("csr", "csc"):
        values = None if weight is False else matrix.data
        return CompressedSource("matrix", matrix.shape, matrix.format == "csr", matrix.indptr, matrix.indices, values)
    entries = matrix.tocoo()
    values = None if weight is False else entries.data
    return ArraySource("matrix", entries.row, entries.col, values, num_nodes=matrix_nodes(matrix.shape))


def is_save_npz(path: str) -> bool:
    """Whether ``scipy.sparse.save_npz`` wrote it."""
    return {"format", "shape", "data"} <= set(npz_members(path))


def save_npz_source(path: str, *, weight: Any = None) -> CompressedSource | NumpyFileSource:
    """Read a sparse matrix that ``scipy.sparse.save_npz`` wrote, without loading it."""
    kind_file = npz_file(path, "format")
    with kind_file.open() as file:
        kind = file.read(min(kind_file.nbytes, 64)).replace(b"\0", b"").decode("ascii", "replace")
    shape_file = npz_file(path, "shape")
    if shape_file.shape != (2,):
        raise FormatError(f"{path}: expected a matrix of two dimensions, found shape of {shape_file.shape}")
    with shape_file.open() as file:
        shape = tuple(read_items(file, shape_file.size, shape_file.dtype, shape_file.name).tolist())
    values = None if weight is False else npz_file(path, "data")
    if kind in ("csr", "csc"):
        return CompressedSource(path, shape, kind == "csr", npz_file(path, "indptr"), npz_file(path, "indices"), values)
    if kind == "coo":
        ends = npz_file(path, "row"), npz_file(path, "col")
        return NumpyFileSource(path, ends, values, None, num_nodes=matrix_nodes(shape))
    raise FormatError(f"{path}: expected a matrix in the format csr, csc or coo, found {kind!r}")
