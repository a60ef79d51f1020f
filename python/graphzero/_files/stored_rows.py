"""Some rows of a ``.gd`` file that is in object storage, without the others."""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._core import DataType, FormatError
from graphzero._files.mounted import path_bytes
from graphzero._files.storage import StoredPath, read_range

# docs/formats/container.md and gd.md
_PAGE = 4096
_ENTRIES, _ENTRY = 256, 40
_MOST_DIMENSIONS = 16
_DATA, _SCALE, _ROW_MAP = 1, 2, 3
_TYPES = (
    *(DataType.INT32, DataType.INT64, DataType.FLOAT32, DataType.FLOAT64, DataType.FLOAT16, DataType.BFLOAT16),
    *(DataType.INT8, DataType.INT16, DataType.UINT8, DataType.BOOL),
)
_ITEM_SIZES = (4, 8, 4, 8, 2, 2, 1, 2, 1, 1)

# Bytes that a request brings.
BLOCK = 8 << 20
# Bytes between two rows that are read in vain, as another request would take longer.
_GAP = 256 << 10


@dataclass(frozen=True)
class RowRange:
    """Rows that one request brings: of those from ``begin`` to before ``end``, those at ``picked``; ``None``: all."""

    begin: int
    end: int
    picked: NDArray[np.int64] | None = None


class StoredRows:
    """The header of a ``.gd`` file, and any of its rows. Rows must be in the order of their ids."""

    def __init__(self, path: StoredPath) -> None:
        self._path = path
        page = read_range(path, 0, _PAGE)
        if len(page) < _PAGE or not page.startswith(b"GRAPHZGD"):
            raise FormatError(f"{path}: expected a .gd file, of which a host can have a range of rows, found another")
        self.fingerprint = int.from_bytes(page[16:24], "little")
        num_sections = _number(page, 32)
        code, num_dimensions = _number(page, 64), _number(page, 68)
        if num_sections > 64 or code >= len(_TYPES) or not 1 <= num_dimensions <= _MOST_DIMENSIONS:
            raise FormatError(f"{path}: corrupt header; push the data set again")
        self.data_type = _TYPES[code]
        self.shape = [_number(page, 72 + 8 * i, 8) for i in range(num_dimensions)]
        entries = [_ENTRIES + _ENTRY * i for i in range(num_sections)]
        self._offsets = {_number(page, entry): _number(page, entry + 16, 8) for entry in entries}
        self.row_bytes = _ITEM_SIZES[code]
        for extent in self.shape[1:]:
            self.row_bytes *= extent
        if _DATA not in self._offsets:
            raise FormatError(f"{path}: corrupt header; push the data set again")

    @property
    def quantised(self) -> bool:
        """Whether each row has a scale."""
        return _SCALE in self._offsets

    @property
    def reordered(self) -> bool:
        """Whether rows are stored in another order than that of their ids."""
        return _ROW_MAP in self._offsets

    @property
    def size_of_row(self) -> int:
        """The bytes of a row, and of its scale if it has one."""
        return self.row_bytes + (4 if self.quantised else 0)

    def write(self, path: str, ranges: list[RowRange], count: int, workers: int, done: Callable[[int], None]) -> None:
        """Write ``count`` rows, those of ``ranges``, to a file, which appears whole or not at all."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        writer = _core.GdWriter(path_bytes(path), self.data_type, [count, *self.shape[1:]])
        if self.row_bytes:
            for block in self._blocks(_DATA, self.row_bytes, ranges, workers, done):
                writer.append(block)
        if self.quantised:
            for block in self._blocks(_SCALE, 4, ranges, workers, done):
                writer.append_scales(block.view(np.float32))
        writer.finish()

    def _blocks(
        self, section: int, width: int, ranges: list[RowRange], workers: int, done: Callable[[int], None]
    ) -> Iterator[NDArray[np.uint8]]:
        def read(wanted: RowRange) -> NDArray[np.uint8]:
            size = (wanted.end - wanted.begin) * width
            data = read_range(self._path, self._offsets[section] + wanted.begin * width, size)
            if len(data) != size:
                raise OSError(errno.EIO, f"expected {size} bytes, found {len(data)}", str(self._path))
            done(size)
            rows = np.frombuffer(data, dtype=np.uint8)
            return rows if wanted.picked is None else rows.reshape(-1, width)[wanted.picked].reshape(-1)

        return _in_order(read, ranges, workers)


def rows_between(begin: int, end: int, row_bytes: int) -> list[RowRange]:
    """Return requests for the rows of a range."""
    step = max(1, BLOCK // max(1, row_bytes))
    return [RowRange(at, min(at + step, end)) for at in range(begin, end, step)]


def rows_at(ids: NDArray[np.int64], row_bytes: int) -> list[RowRange]:
    """Return requests for the rows of some ids, which rise; those that lie close together come with one."""
    width = max(1, row_bytes)
    step, gap = max(1, BLOCK // width), max(1, _GAP // width)
    found, first = [], 0
    cuts = np.flatnonzero(np.diff(ids) > gap) + 1
    for last in [*cuts.tolist(), len(ids)]:
        while first < last:
            end = min(last, int(np.searchsorted(ids, ids[first] + step)))
            begin = int(ids[first])
            found.append(RowRange(begin, int(ids[end - 1]) + 1, ids[first:end] - begin))
            first = end
    return found


def _in_order(
    read: Callable[[RowRange], NDArray[np.uint8]], ranges: Iterable[RowRange], workers: int
) -> Iterator[NDArray[np.uint8]]:
    """Read ranges in threads, and return them in order; few wait at a time."""
    left = iter(ranges)
    with ThreadPoolExecutor(workers, thread_name_prefix="graphzero transfer") as pool:
        reading = deque(pool.submit(read, wanted) for wanted in islice(left, workers))
        try:
            while reading:
                block = reading.popleft().result()
                reading.extend(pool.submit(read, wanted) for wanted in islice(left, 1))
                yield block
        finally:
            for future in reading:
                future.cancel()


def _number(page: bytes, offset: int, size: int = 4) -> int:
    return int.from_bytes(page[offset : offset + size], "little")
