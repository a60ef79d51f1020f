"""Rows that say their own places, on their way from the tasks that read them to the parts that they belong to.

The file of a task has its records in the order of the parts, those of a part as they were read.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from graphzero._core import FormatError
from graphzero.convert.step_files import StepFiles

_LEAST_ROOM = 1 << 20
_READ = 8 << 20


def record_type(row_bytes: int, *, quantised: bool) -> np.dtype[Any]:
    """Return how a row is kept: its id, its line, its scale if it is quantised, and its bytes."""
    fields: list[tuple[str, str]] = [("id", "<i8"), ("line", "<i8")]
    if quantised:
        fields.append(("scale", "<f4"))
    return np.dtype([*fields, ("row", f"V{row_bytes}")])


class RecordWriter:
    """Groups rows by part in bounded memory. What does not fit waits in a file without a name."""

    def __init__(self, ends: Sequence[int], kind: np.dtype[Any], room: int, waiting: IO[bytes]) -> None:
        self._ends = np.asarray(ends, np.int64)  # of the ids of each part
        self._kind = kind
        self._room = max(room, _LEAST_ROOM)
        self._waiting = waiting
        self._held: list[NDArray[Any]] = []
        self._held_bytes = 0
        self._runs: list[list[tuple[int, int]]] = [[] for _ in ends]  # of each part: offset and size

    def add(
        self,
        ids: NDArray[np.int64],
        lines: NDArray[np.int64],
        items: NDArray[np.uint8],
        scales: NDArray[np.float32] | None,
    ) -> None:
        """Add rows whose ids are within the parts."""
        records = np.empty(len(ids), self._kind)
        records["id"], records["line"] = ids, lines
        if scales is not None:
            records["scale"] = scales
        if self._kind["row"].itemsize:
            records["row"] = items.view(self._kind["row"])
        self._held.append(records)
        self._held_bytes += records.nbytes + 8 * len(ids)  # in finish(), their order comes on top
        if self._held_bytes >= self._room:
            self._flush()

    def _flush(self) -> None:
        """Bring what is held to the file of those that wait, each part's together."""
        for records in self._held:
            for number, chosen in enumerate(self._by_part(records)):
                if len(chosen):
                    self._runs[number].append((self._waiting.tell(), chosen.nbytes))
                    self._waiting.write(chosen.view(np.uint8).data)
        self._held, self._held_bytes = [], 0

    def _by_part(self, records: NDArray[Any]) -> Iterator[NDArray[Any]]:
        """Yield the records of each part."""
        part = np.searchsorted(self._ends, records["id"], side="right").astype(np.uint16)  # sorted by digits
        order = np.argsort(part, kind="stable")
        begins = np.searchsorted(part[order], np.arange(len(self._ends) + 1))
        del part
        for begin, end in itertools.pairwise(begins):
            yield records[order[begin:end]]

    def finish(self, out: IO[bytes]) -> list[tuple[int, int]]:
        """Write all records; return how many each part has, and their checksum."""
        if self._waiting.tell():
            self._flush()
        # What never had to wait goes straight from memory.
        held = [self._by_part(records) for records in self._held]
        found = []
        for runs in self._runs:
            size = checksum = 0
            ready: Iterator[bytes | memoryview] = (next(parts).view(np.uint8).data for parts in held)
            for block in itertools.chain(self._waited(runs), ready):
                checksum = zlib.crc32(block, checksum)
                out.write(block)
                size += len(block)
            found.append((size // self._kind.itemsize, checksum))
        return found

    def _waited(self, runs: list[tuple[int, int]]) -> Iterator[bytes]:
        for offset, length in runs:
            self._waiting.seek(offset)
            for at in range(0, length, _READ):
                yield self._waiting.read(min(_READ, length - at))


def read_records(
    files: StepFiles, name: str, kind: np.dtype[Any], runs: Sequence[tuple[int, int]], part: int
) -> Iterator[NDArray[Any]]:
    """Read the records of a part from the file of a task, and refuse them in the end if they are damaged."""
    begin = sum(count for count, _ in runs[:part]) * kind.itemsize
    count, expected = runs[part]
    at_once = max(1, _READ // kind.itemsize) * kind.itemsize
    checksum = 0
    for block in files.range_blocks(name, begin, count * kind.itemsize, at_once):
        checksum = zlib.crc32(block, checksum)
        yield np.frombuffer(block, kind)
    if checksum != expected:
        raise FormatError(
            f"{files.path(name)}: the checksum of {count} rows at byte {begin} differs: it is damaged, remove it and "
            "repeat the step that wrote it"
        )
