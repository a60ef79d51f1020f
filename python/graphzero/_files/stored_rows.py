"""Some rows of an attribute that is in object storage, in one file or in parts, without the others."""

from __future__ import annotations

import errno
import os
import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._core import FormatError
from graphzero._files.manifest_records import FileRecord, PartsRecord
from graphzero._files.mounted import path_bytes
from graphzero._files.storage import StoredPath, facts_of, read_range
from graphzero._files.stored_objects import check_object

# docs/formats/container.md and gd.md
_PAGE = 4096
_DATA, _SCALE, _ROW_MAP = 1, 2, 3

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


class _GdHeader:
    """The header page of a ``.gd`` file of ``size`` bytes, proven like that of a file which is opened."""

    def __init__(self, page: bytes, path: str, size: int) -> None:
        if not page.startswith(b"GRAPHZGD"):
            raise FormatError(f"{path}: expected a .gd file, of which a host can have a range of rows, found another")
        header = _core.GdHeader(path_bytes(path), page, size)
        self.data_type, self.shape, self.row_bytes = header.dtype, header.shape, header.row_bytes
        self.offsets = {kind: offset for kind, offset, _ in header.sections}
        self.checksums = {kind: checksum for kind, _, checksum in header.sections}

    @property
    def kind(self) -> str:
        """What rows of all parts of an attribute have in common."""
        name = self.data_type.name.lower()
        return f"{name} {self.shape[1:]}{' with scales' if _SCALE in self.offsets else ''}"


@dataclass(frozen=True)
class RowsHere:
    """Rows from ``begin`` to before ``end`` that have come already, in a ``.gd`` file of this machine."""

    path: str
    begin: int
    end: int

    def reader(self) -> Callable[[int, int, int, int], bytes]:
        """Return what reads items from ``begin`` to before ``end`` of a section, each of ``width`` bytes."""
        with open(self.path, "rb") as file:
            offsets = _GdHeader(file.read(_PAGE), self.path, os.path.getsize(self.path)).offsets

        def read(section: int, width: int, begin: int, end: int) -> bytes:
            with open(self.path, "rb") as file:
                file.seek(offsets[section] + (begin - self.begin) * width)
                return file.read((end - begin) * width)

        return read


@dataclass
class _RowFile:
    """A file that has the rows from ``begin`` to before ``end``. Its header is read when the first of them is."""

    record: FileRecord
    begin: int
    end: int
    lock: threading.Lock = field(default_factory=threading.Lock)
    header: _GdHeader | None = None
    facts: Any = None


class StoredRows:
    """Any rows of an attribute in storage: one ``.gd`` file, or several that have a range each.

    Rows must be in the order of their ids. Headers are read as they are needed, and compared with the manifest.
    """

    def __init__(self, place: StoredPath, record: FileRecord, num_rows: int, name: str) -> None:
        self._place, self._name = place, name
        if isinstance(record, PartsRecord):
            ranges = [(FileRecord(part.file, part.fingerprint), part.begin, part.end) for part in record.parts]
        else:
            ranges = [(record, 0, num_rows)]
        self._files = [_RowFile(*each) for each in ranges]
        self._ends = [file.end for file in self._files]
        self._first = first = self._header(self._files[0])
        self.data_type, self.shape, self.row_bytes = first.data_type, [num_rows, *first.shape[1:]], first.row_bytes
        self.quantised = _SCALE in first.offsets

    @property
    def size_of_row(self) -> int:
        """The bytes of a row, and of its scale if it has one."""
        return self.row_bytes + (4 if self.quantised else 0)

    def objects(self) -> dict[str, Any]:
        """Return size and time of the files that were looked at, as they were then."""
        return {file.record.file: file.facts for file in self._files if file.header is not None}

    def pieces(self, begin: int, end: int, size: int) -> list[tuple[int, int]]:
        """Cut a range of rows where parts end; of a file that is not in parts, into pieces of about ``size`` bytes."""
        if len(self._files) > 1:
            cuts = [(max(begin, file.begin), min(end, file.end)) for file in self._between(begin, end)]
        else:
            step = max(1, size // max(1, self.row_bytes))
            cuts = [(at, min(at + step, end)) for at in range(begin, end, step)]
        return cuts or [(begin, end)]

    def write(
        self,
        path: str,
        ranges: list[RowRange],
        count: int,
        workers: int,
        done: Callable[[int], None],
        here: RowsHere | None = None,
    ) -> None:
        """Write ``count`` rows, those of ``ranges``, to a file, which appears whole or not at all.

        Rows that are ``here`` are not brought again.
        """
        os.makedirs(os.path.dirname(path), exist_ok=True)
        writer = _core.GdWriter(path_bytes(path), self.data_type, [count, *self.shape[1:]])
        if self.row_bytes:
            for block in self._blocks(_DATA, self.row_bytes, ranges, workers, done, here):
                writer.append(block)
        if self.quantised:
            writer.append_scales(np.empty(0, dtype=np.float32))  # also of a range without rows
            for block in self._blocks(_SCALE, 4, ranges, workers, done, here):
                writer.append_scales(block.view(np.float32))
        writer.finish()

    def check(self, path: str, begin: int, end: int) -> None:
        """Refuse rows that were written to ``path``, if they are all those of a file and not what its header says.

        Of a part of a file's rows nothing is known but that they came.
        """
        for file in self._between(begin, end):
            if (file.begin, file.end) != (begin, end):
                continue
            with open(path, "rb") as written:
                found = _GdHeader(written.read(_PAGE), path, os.path.getsize(path)).checksums
            expected = self._header(file).checksums
            for section in (_DATA, _SCALE):
                if found.get(section) != expected.get(section):
                    raise FormatError(
                        f"{self._place / file.record.file}: expected rows with the checksum {expected[section]:#018x} "
                        f"of its header, found {found[section]:#018x}; stage again, and push the data set again if "
                        "that does not help"
                    )

    def _between(self, begin: int, end: int) -> Iterator[_RowFile]:
        """Iterate over the files that have any of these rows."""
        for file in self._files[bisect_right(self._ends, begin) :]:
            if file.begin >= end:
                return
            if file.begin < file.end:
                yield file

    def _header(self, file: _RowFile) -> _GdHeader:
        """Return the header of a file, which is read once; for any thread."""
        with file.lock:
            if file.header is None:
                path = self._place / file.record.file
                file.facts = facts_of([path])[0]
                page = read_range(path, 0, _PAGE)
                check_object(path, file.record, file.facts, page)
                header = _GdHeader(page, path, file.facts.size)
                if _ROW_MAP in header.offsets:
                    raise FormatError(
                        f"{path}: {self._name}: expected rows in the order of their ids, found the hottest first, of "
                        'which no range can be taken; write it anew without order="hot", or bring it whole'
                    )
                if header.shape[0] != file.end - file.begin:
                    raise FormatError(
                        f"{path}: {self._name}: expected {file.end - file.begin} rows, found {header.shape[0]}"
                    )
                if file is not self._files[0] and header.kind != self._first.kind:
                    raise FormatError(
                        f"{path}: {self._name}: expected rows of {self._first.kind}, as the first part has, found "
                        f"{header.kind}; push or convert the data set again"
                    )
                file.header = header
            return file.header

    def _blocks(
        self,
        section: int,
        width: int,
        ranges: list[RowRange],
        workers: int,
        done: Callable[[int], None],
        here: RowsHere | None,
    ) -> Iterator[NDArray[np.uint8]]:
        read_here = None if here is None or here.begin == here.end else here.reader()

        def bring(begin: int, end: int) -> Iterator[NDArray[np.uint8]]:
            for file in self._between(begin, end) if begin < end else ():
                first, last = max(begin, file.begin), min(end, file.end)
                path, size = self._place / file.record.file, (last - first) * width
                at = self._header(file).offsets[section] + (first - file.begin) * width
                data = read_range(path, at, size)
                if len(data) != size:
                    raise OSError(errno.EIO, f"expected {size} bytes from {at} on, found {len(data)}", str(path))
                done(size)
                yield np.frombuffer(data, dtype=np.uint8)

        def read(wanted: RowRange) -> NDArray[np.uint8]:
            begin, end = wanted.begin, wanted.end
            if here is None or read_here is None or end <= here.begin or here.end <= begin:
                found = [*bring(begin, end)]
            else:
                first, last = max(begin, here.begin), min(end, here.end)
                known = np.frombuffer(read_here(section, width, first, last), dtype=np.uint8)
                found = [*bring(begin, first), known, *bring(last, end)]
            rows = found[0] if len(found) == 1 else np.concatenate(found)
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
