"""Edges in ``.npy`` and ``.npz`` files: ``(2, E)``, ``(E, 2)``, or a vector for each end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import IO, Any

from numpy.typing import NDArray

from graphzero._base.argument_errors import Setting, error_of
from graphzero._files.storage import path_here
from graphzero.convert.edge_sources.array_file import ArrayFile, npy_file, npz_file, npz_members, read_items
from graphzero.convert.edge_sources.batch import EdgeBatch, NodeCount, check_ends, checked_rows, edge_batch

Read = Callable[[int], "NDArray[Any]"]

_DEFAULT_MEMBER = "edge_index"
_COPY_ITEMS = 1 << 20


class NumpyFileSource:
    """Edges of one array, or of two vectors; weights and times are vectors beside them.

    Blocks are read at their offset, not mapped: what is read does not count as memory of the process.
    Of a deflated ``(2, E)`` array, row 0 goes to a temporary file without a name in ``tmp_dir``.
    """

    undirected = False

    def __init__(
        self,
        name: str,
        ends: ArrayFile | tuple[ArrayFile, ArrayFile],
        weight: ArrayFile | None,
        time: ArrayFile | None,
        *,
        num_nodes: NodeCount = None,
        tmp_dir: str | None = None,
        rows: tuple[int, int] | None = None,
    ) -> None:
        self.name = name
        self.num_nodes = num_nodes
        self._ends = ends
        self._extra = weight, time
        self._tmp_dir = tmp_dir
        self.num_edges: int = _pair_count(ends) if isinstance(ends, ArrayFile) else ends[0].size
        vectors = [*(ends if isinstance(ends, tuple) else ()), *(file for file in self._extra if file is not None)]
        for vector in vectors:
            if vector.shape not in ((self.num_edges,), (self.num_edges, 1)):
                raise ValueError(
                    f"{vector.name}: expected a vector with a value for each of {self.num_edges} edges, "
                    f"found shape {vector.shape}"
                )
        for end in ends if isinstance(ends, tuple) else (ends,):
            if end.dtype.kind not in "iuUS":
                raise TypeError(f"{end.name}: expected integers, found {end.dtype}")
        self._first, self._last = (0, self.num_edges) if rows is None else rows

    def batches(self, rows: int) -> Iterator[EdgeBatch]:
        """Read ``rows`` edges at a time."""
        checked_rows(rows)
        with ExitStack() as stack:
            read_ends = self._end_reader(stack)
            weight, time = (None if file is None else _vector_reader(file, stack, self._first) for file in self._extra)
            for start in range(self._first, self._last, rows):
                count = min(rows, self._last - start)
                src, dst = read_ends(count)
                yield edge_batch(
                    src,
                    dst,
                    None if weight is None else weight(count),
                    None if time is None else time(count),
                    self.name,
                )

    def _end_reader(self, stack: ExitStack) -> Callable[[int], tuple[NDArray[Any], NDArray[Any]]]:
        ends = self._ends
        if isinstance(ends, tuple):
            src, dst = (_vector_reader(end, stack, self._first) for end in ends)
        elif _is_interleaved(ends):
            read = _vector_reader(ends, stack, 2 * self._first)

            def read_pairs(count: int) -> tuple[NDArray[Any], NDArray[Any]]:
                pairs = read(2 * count).reshape(count, 2)
                return pairs[:, 0], pairs[:, 1]

            return read_pairs
        else:
            src, dst = self._row_readers(ends, stack)
        return lambda count: (src(count), dst(count))

    def _row_readers(self, ends: ArrayFile, stack: ExitStack) -> tuple[Read, Read]:
        """Read both rows of a ``(2, E)`` array side by side."""
        second = stack.enter_context(ends.open())
        if not ends.deflated:
            first = stack.enter_context(ends.open())
            first.seek(self._first * ends.dtype.itemsize, os.SEEK_CUR)
            second.seek((self.num_edges + self._first) * ends.dtype.itemsize, os.SEEK_CUR)
        else:
            import tempfile

            folder = self._tmp_dir or _folder_for_spilling(ends.path)
            first = stack.enter_context(tempfile.TemporaryFile(dir=folder))  # noqa: SIM115
            self._copy_row(second, first, ends)
        return _reader(first, ends), _reader(second, ends)

    def _copy_row(self, source: IO[bytes], target: IO[bytes], ends: ArrayFile) -> None:
        for start in range(0, self.num_edges, _COPY_ITEMS):
            count = min(_COPY_ITEMS, self.num_edges - start)
            target.write(read_items(source, count, ends.dtype, ends.name).data)
        target.seek(0)


def _reader(file: IO[bytes], array: ArrayFile) -> Read:
    return lambda count: read_items(file, count, array.dtype, array.name)


def _vector_reader(array: ArrayFile, stack: ExitStack, first: int) -> Read:
    """Read it from the item ``first`` on; of a deflated one that is 0."""
    file = stack.enter_context(array.open())
    if first:
        file.seek(first * array.dtype.itemsize, os.SEEK_CUR)
    return _reader(file, array)


def _folder_for_spilling(path: str) -> str | None:
    """Prefer the disk of the input: the usual temporary folder may be memory."""
    folder = os.path.dirname(os.path.abspath(path))
    return folder if os.access(folder, os.W_OK) else None


def _pair_count(array: ArrayFile) -> int:
    if len(array.shape) != 2 or 2 not in array.shape:
        raise ValueError(f"{array.name}: expected shape (2, E) or (E, 2), found {array.shape}")
    return array.shape[1] if array.shape[0] == 2 else array.shape[0]


def _is_interleaved(array: ArrayFile) -> bool:
    """Whether the two ends of an edge lie side by side. A (2, 2) array counts as (2, E)."""
    return (array.shape[0] == 2) == array.fortran_order


def npy_source(
    path: str, *, weight: Any = None, time: Any = None, rows: tuple[int, int] | None = None
) -> NumpyFileSource:
    """Read edges from a ``.npy`` file, all or those of a range; weights and times may be in others."""
    return NumpyFileSource(path, npy_file(path), _optional_file(weight), _optional_file(time), rows=rows)


def npy_ranges(path: str, size: int) -> list[tuple[int, int]]:
    """Cut the edges of a ``.npy`` file into ranges of about ``size`` bytes."""
    array = npy_file(path)
    count = _pair_count(array)
    step = max(1, size // (2 * array.dtype.itemsize))
    return [(begin, min(begin + step, count)) for begin in range(0, count, step)]


def _optional_file(path: Any) -> ArrayFile | None:
    return None if path is None or path is False else npy_file(path_here(path))


def npz_source(
    path: str, *, src: Any = None, dst: Any = None, weight: Any = None, time: Any = None, tmp_dir: str | None = None
) -> NumpyFileSource:
    """Read edges from a ``.npz`` file: the member ``src`` or ``edge_index``, or the members ``src`` and ``dst``."""
    members = npz_members(path)
    if dst is not None and src is None:
        raise error_of(
            ValueError, f"{path}: expected ", Setting("src"), " beside ", Setting("dst", dst), ", found none"
        )
    if src is None:
        src = members[0] if len(members) == 1 else _DEFAULT_MEMBER
    if dst is not None:
        check_ends(src, dst, path)
    weights, times = (None if name is None or name is False else npz_file(path, name) for name in (weight, time))
    ends = npz_file(path, src) if dst is None else (npz_file(path, src), npz_file(path, dst))
    return NumpyFileSource(path, ends, weights, times, tmp_dir=tmp_dir)
