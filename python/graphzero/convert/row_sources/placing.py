"""Rows on their way into a ``.gd`` file: in order, or placed by their ids in bounded memory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import pairwise
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._base.dtypes import DataType, numpy_dtype
from graphzero._base.memory_sizes import byte_text
from graphzero._files.folder import check_free_space
from graphzero._files.mounted import path_bytes

Rows = NDArray[np.uint8]
Scales = NDArray[np.float32]

_ZEROS = 4 << 20


class RowWriter:
    """Writes rows one after the other. The file appears at ``finish()``, or not at all."""

    def __init__(
        self, path: str, stored: DataType, row_shape: tuple[int, ...], *, quantised: bool, num_rows: int
    ) -> None:
        self.row_bytes = numpy_dtype(stored).itemsize * int(np.prod(row_shape, dtype=np.int64))
        self._path = path
        self.check_room(num_rows)
        self._writer = _core.GdWriter(path_bytes(path), stored, [num_rows, *row_shape])
        self._temporary = ExitStack()
        self.folder = os.path.dirname(os.path.abspath(path))
        self.num_rows = 0
        # The section of scales follows the rows, so they wait: 4 bytes per row.
        self._scales: IO[bytes] | None = self.temporary_file() if quantised else None

    def check_room(self, num_rows: int) -> None:
        """Refuse more rows than the disk has room for."""
        check_free_space(self._path, num_rows * self.row_bytes)

    def __enter__(self) -> RowWriter:
        return self

    def __exit__(self, *error: object) -> None:
        del self._writer  # which removes what is not finished
        # What a full disk did not take is not missed.
        with suppress(OSError):
            self._temporary.close()

    def temporary_file(self) -> IO[bytes]:
        """Open a nameless file beside the target, which is removed with this writer or the process."""
        import tempfile

        file: IO[bytes] = tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115
        return self._temporary.enter_context(file)

    def append(self, rows: NDArray[Any], scales: Scales | None) -> None:
        """Write the next rows, in their stored type."""
        self._writer.append(rows.reshape(-1).view(np.uint8))
        if self._scales is not None and scales is not None:
            self._scales.write(scales.data)
        self.num_rows += len(rows)

    def append_from(self, path: str, offset: int, length: int) -> None:
        """Write the next rows straight from another file."""
        self._writer.append_from(path_bytes(path), offset, length)
        self.num_rows += length // self.row_bytes

    def append_zeros(self, count: int) -> None:
        """Write rows of zeros."""
        at_once = max(1, _ZEROS // max(1, self.row_bytes + 4))
        while count:
            part = min(count, at_once)
            self.append(np.zeros((part, self.row_bytes), np.uint8), np.zeros(part, np.float32))
            count -= part

    def rewind(self) -> None:
        """Start anew from row 0. What was written can be read back until it is written over."""
        self._writer.rewind()
        if self._scales is not None:
            self._scales.seek(0)
        self.num_rows = 0

    def read_back(self, start: int, count: int) -> tuple[Rows, Scales]:
        """Return rows that were written before ``rewind``."""
        rows = self._writer.read_back(start * self.row_bytes, count * self.row_bytes)
        scales = np.zeros(count, np.float32)
        if self._scales is not None:
            here = self._scales.tell()
            self._scales.seek(start * scales.itemsize)
            read_exactly(self._scales, scales)
            self._scales.seek(here)
        return rows.reshape(count, self.row_bytes), scales

    def finish(self) -> None:
        """Put the file in place."""
        if self._scales is not None:
            self._scales.seek(0)
            left = self.num_rows
            while left or self.num_rows == 0:
                scales = np.empty(min(left, _ZEROS // 4), np.float32)
                read_exactly(self._scales, scales)
                self._writer.append_scales(scales)
                left -= len(scales)
                if not left:
                    break
        self._writer.set_num_rows(self.num_rows)
        self._writer.finish()


class RowPlacer:
    """Writes rows by their ids; absent rows are zeros.

    While ids rise, rows go straight to the file. From the first one that does not, they wait in a
    temporary file without a name, sorted into ranges of rows that fit the memory, and the file is
    written once more.
    """

    def __init__(
        self,
        out: RowWriter,
        *,
        num_rows: int | None,
        memory: int,
        refuse: Callable[[int, str], None],
        on_pass: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        out.check_room(num_rows or 0)
        self._out = out
        self._num_rows = num_rows
        self._refuse = refuse  # is told the line and the reason of a row that cannot be placed
        self._on_pass = on_pass
        self._range_rows = max(1, memory // 4 // (out.row_bytes + 16))
        self._buffer_bytes = memory // 4
        self._limit = max(1, _ZEROS // max(1, out.row_bytes))
        self._end = 0  # one more than the largest id
        self._present: IO[bytes] | None = None  # a byte per row written in order, once there is a gap
        self._num_present = 0
        self._spool: _Spool | None = None

    def add(self, ids: NDArray[np.int64], lines: NDArray[np.int64], rows: Rows, scales: Scales | None) -> None:
        """Take rows in any order. ``lines`` are where they came from, for errors."""
        ids, lines, rows, scales = self._within_bounds(ids, lines, rows, scales)
        if not len(ids):
            return
        self._end = max(self._end, int(ids.max()) + 1)
        if self._spool is None:
            falls = np.flatnonzero(ids[1:] <= ids[:-1])
            rising = 0 if ids[0] < self._out.num_rows else int(falls[0]) + 1 if len(falls) else len(ids)
            self._append(ids[:rising], rows[:rising], None if scales is None else scales[:rising])
            if rising == len(ids):
                return
            ids, lines, rows = ids[rising:], lines[rising:], rows[rising:]
            scales = None if scales is None else scales[rising:]
            self._spool = _Spool(self._out.temporary_file(), self._range_rows, self._buffer_bytes, self._out.row_bytes)
        self._spool.add(ids, lines, rows, np.zeros(len(ids), np.float32) if scales is None else scales)

    def finish(self) -> int:
        """Write what waits. Return the number of absent rows."""
        num_rows = self._end if self._num_rows is None else self._num_rows
        if self._spool is None:
            self._out.append_zeros(num_rows - self._out.num_rows)
        else:
            self._merge(self._spool, num_rows)
        self._out.finish()
        return num_rows - self._num_present

    def _within_bounds(
        self, ids: NDArray[np.int64], lines: NDArray[np.int64], rows: Rows, scales: Scales | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Rows, Scales | None]:
        limit = self._num_rows
        if limit is None:
            there = shutil.disk_usage(self._out.folder).free + self._out.num_rows * self._out.row_bytes
            limit = max(there // max(1, self._out.row_bytes), self._out.num_rows)
        wrong = (ids < 0) | (ids >= limit)
        if wrong.any():
            for at in np.flatnonzero(wrong):
                self._refuse(int(lines[at]), self._bounds_text(int(ids[at])))
            good = ~wrong
            ids, lines, rows = ids[good], lines[good], rows[good]
            scales = None if scales is None else scales[good]
        return ids, lines, rows, scales

    def _bounds_text(self, row: int) -> str:
        if self._num_rows is not None or row < 0:
            return f"expected an id from 0 to {(self._num_rows or 2**59) - 1}, found {row}"
        needed = byte_text((row + 1) * self._out.row_bytes)
        return f"expected ids for which there is room on the disk, found {row}, which makes a file of {needed}"

    def _append(self, ids: NDArray[np.int64], rows: Rows, scales: Scales | None) -> None:
        """Write rows whose ids rise and are not below those written before."""
        at = 0
        while at < len(ids):
            base = self._out.num_rows
            if ids[at] - base >= self._limit:
                self._note_present(np.zeros(0, bool), int(ids[at]) - base)
                self._out.append_zeros(int(ids[at]) - base)
                continue
            stop = int(np.searchsorted(ids, base + self._limit))
            places = ids[at:stop] - base
            span = int(places[-1]) + 1
            if span == len(places):
                if self._present is not None:
                    self._note_present(np.ones(span, bool), 0)
                self._out.append(rows[at:stop], None if scales is None else scales[at:stop])
            else:
                block, present = np.zeros((span, self._out.row_bytes), np.uint8), np.zeros(span, bool)
                block[places], present[places] = rows[at:stop], True
                factors = np.zeros(span, np.float32)
                if scales is not None:
                    factors[places] = scales[at:stop]
                self._note_present(present, 0)
                self._out.append(block, factors)
            self._num_present += len(places)
            at = stop

    def _note_present(self, present: NDArray[np.bool_], absent: int) -> None:
        if self._present is None:
            self._present = self._out.temporary_file()
            _write_repeated(self._present, b"\1", self._out.num_rows)
        self._present.write(present.data)
        _write_repeated(self._present, b"\0", absent)

    def _merge(self, spool: _Spool, num_rows: int) -> None:
        spool.flush()
        written = self._out.num_rows
        self._out.rewind()
        for start in range(0, num_rows, self._range_rows):
            self._on_pass(start, num_rows)
            count = min(self._range_rows, num_rows - start)
            rows, scales = np.zeros((count, self._out.row_bytes), np.uint8), np.zeros(count, np.float32)
            seen = np.zeros(count, bool)
            before = min(max(written - start, 0), count)
            if before:
                rows[:before], scales[:before] = self._out.read_back(start, before)
                seen[:before] = True
                if self._present is not None:
                    self._present.seek(start)
                    read_exactly(self._present, seen[:before])
            for ids, lines, new_rows, new_scales in spool.extents(start // self._range_rows):
                places = ids - start
                first = np.zeros(len(places), bool)
                first[np.unique(places, return_index=True)[1]] = True
                fresh = first & ~seen[places]
                for at in np.flatnonzero(~fresh):
                    self._refuse(int(lines[at]), f"id {ids[at]} was there before")
                rows[places[fresh]], scales[places[fresh]] = new_rows[fresh], new_scales[fresh]
                seen[places[fresh]] = True
                self._num_present += int(fresh.sum())
            self._out.append(rows, scales)
        self._on_pass(num_rows, num_rows)


class _Spool:
    """Rows sorted into ranges of ids, on disk; each range keeps the order of arrival."""

    def __init__(self, file: IO[bytes], range_rows: int, buffer_bytes: int, row_bytes: int) -> None:
        self._file = file
        self._range_rows = range_rows
        self._buffer_bytes = buffer_bytes
        self._row_bytes = row_bytes
        self._waiting: dict[int, list[tuple[NDArray[Any], ...]]] = {}
        self._waiting_bytes = 0
        self._extents: dict[int, list[tuple[int, int]]] = {}

    def add(self, ids: NDArray[np.int64], lines: NDArray[np.int64], rows: Rows, scales: Scales) -> None:
        ranges = ids // self._range_rows
        order = np.argsort(ranges, kind="stable")
        ranges = ranges[order]
        cuts = [0, *(np.flatnonzero(np.diff(ranges)) + 1).tolist(), len(ranges)]
        for begin, end in pairwise(cuts):
            part = order[begin:end]
            taken = ids[part], lines[part], rows[part], scales[part]
            self._waiting.setdefault(int(ranges[begin]), []).append(taken)
        self._waiting_bytes += ids.nbytes + lines.nbytes + rows.nbytes + scales.nbytes
        if self._waiting_bytes > self._buffer_bytes:
            self.flush()

    def flush(self) -> None:
        for number, parts in sorted(self._waiting.items()):
            count = sum(len(part[0]) for part in parts)
            self._extents.setdefault(number, []).append((self._file.tell(), count))
            for column in range(4):
                for part in parts:
                    self._file.write(np.ascontiguousarray(part[column]).data)
        self._waiting.clear()
        self._waiting_bytes = 0

    def extents(self, number: int) -> Any:
        """Yield (ids, lines, rows, scales) of a range, in the order they came."""
        for offset, count in self._extents.get(number, []):
            ids, lines = np.empty(count, np.int64), np.empty(count, np.int64)
            rows, scales = np.empty((count, self._row_bytes), np.uint8), np.empty(count, np.float32)
            self._file.seek(offset)
            for column in (ids, lines, rows, scales):
                read_exactly(self._file, column)
            yield ids, lines, rows, scales


def read_exactly(file: IO[bytes], out: NDArray[Any]) -> None:
    """Fill ``out`` from a file that was written to this point."""
    view = out.reshape(-1).view(np.uint8).data
    done = 0
    while done < len(view):
        count = file.readinto(view[done:])  # type: ignore[attr-defined]
        if not count:
            raise OSError(f"a temporary file ends too early: expected {len(view) - done} more bytes")
        done += count


def _write_repeated(file: IO[bytes], byte: bytes, count: int) -> None:
    for _ in range(count // _ZEROS):
        file.write(byte * _ZEROS)
    file.write(byte * (count % _ZEROS))
