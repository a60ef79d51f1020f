"""Edges of Matrix Market files (``.mtx``, ``.mtx.gz``): text, counted from 1, read block by block."""

from __future__ import annotations

import gzip
import warnings
import zlib
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import value_error
from graphzero._core import FormatError
from graphzero.convert.edge_sources.batch import EdgeBatch, NodeCount, checked_rows, edge_batch

_FIELDS = {"pattern": 2, "integer": 3, "real": 3, "double": 3}
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")
_BLOCK_BYTES = 4 << 20
_LONGEST_LINE = 1 << 16


class MatrixMarketSource:
    """A sparse matrix as text; the entry ``i j`` is the edge i-1 → j-1.

    Values are weights unless ``weight=False``. A symmetric matrix lists one triangle: its edges mean
    both directions. A skew-symmetric one does too, but the other triangle has the opposite sign, so
    both edges come, one after the other.
    """

    def __init__(self, path: str, *, weight: Any = None) -> None:
        self.name = path
        with _opened(path) as file:
            self._read_header(file)
        if self._columns == 2 and weight not in (None, False):
            raise value_error("weight", "expected a matrix with values, found a pattern", where=path)
        self._with_weights = self._columns == 3 and weight is not False

    def _read_header(self, file: IO[bytes]) -> None:
        banner = _line(file)
        words = banner.lower().split()
        if len(words) != 5 or words[0] != "%%matrixmarket":
            raise self._refuse(1, "the banner %%MatrixMarket matrix coordinate FIELD SYMMETRY", banner)
        _, kind, layout, field, symmetry = words
        for found, expected in (
            (kind, ("matrix",)),
            (layout, ("coordinate",)),
            (field, tuple(_FIELDS)),
            (symmetry, _SYMMETRIES),
        ):
            if found not in expected:
                raise self._refuse(1, " or ".join(expected), found)
        self._columns = _FIELDS[field]
        self._skew = symmetry == "skew-symmetric"
        self.undirected = symmetry == "symmetric"
        line_number = 1
        while True:
            line = _line(file)
            line_number += 1
            if line and not line.startswith("%"):
                break
            if not line and not file.peek(1):  # type: ignore[attr-defined]
                raise self._refuse(line_number, "ROWS COLUMNS ENTRIES", "the end of the file")
        try:
            rows, columns, entries = (int(word) for word in line.split())
            if min(rows, columns, entries) < 0 or max(rows, columns, entries) > 2**59:
                raise ValueError
        except ValueError:
            raise self._refuse(line_number, "ROWS COLUMNS ENTRIES", line) from None
        self._shape = rows, columns
        self._num_entries = entries
        self._first_line = line_number + 1
        self.num_nodes: NodeCount = rows if rows == columns else (rows, columns)
        self.num_edges: int = entries * (2 if self._skew else 1)

    def _refuse(self, line_number: int, expected: str, found: str) -> FormatError:
        return FormatError(f"{self.name}: line {line_number}: expected {expected}, found {found[:80]!r}")

    def batches(self, rows: int) -> Iterator[EdgeBatch]:
        """Read ``rows`` edges at a time."""
        checked_rows(rows)
        for src, dst, value in self._entries():
            weight = value if self._with_weights else None
            if self._skew:
                src, dst = _alternating(src, dst), _alternating(dst, src)
                weight = None if weight is None else _alternating(weight, -weight)
            yield from edge_batch(src, dst, weight, None, self.name).pieces(rows)

    def _entries(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any] | None]]:
        line_number, left = self._first_line, self._num_entries
        with _opened(self.name) as file:
            for _ in range(self._first_line - 1):
                _line(file)
            for block in _blocks(file, self.name):
                table = self._parsed(block, line_number)
                if len(table) > left:
                    raise FormatError(
                        f"{self.name}: expected {self._num_entries} entries, as line {self._first_line - 1} says, "
                        "found more"
                    )
                left -= len(table)
                line_number += block.count(b"\n")
                if len(table):
                    ends = table[:, :2].astype(np.int64) - 1
                    yield ends[:, 0], ends[:, 1], table[:, 2] if self._columns == 3 else None
        if left:
            raise FormatError(
                f"{self.name}: expected {self._num_entries} entries, as line {self._first_line - 1} says, "
                f"found {self._num_entries - left}"
            )

    def _parsed(self, block: bytes, line_number: int) -> NDArray[Any]:
        """Turn whole lines into a table; if anything is wrong, look for the line and name it."""
        kind = np.int64 if self._columns == 2 else np.float64
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                numbers = np.fromstring(block.decode("latin-1"), dtype=kind, sep=" ")
            if not _has_regular_lines(block, self._columns):
                raise ValueError
            table = numbers.reshape(-1, self._columns)
            inside = (table[:, :2] >= 1) & (table[:, :2] <= self._shape)
            if inside.all() and (table[:, :2] % 1 == 0).all():
                return table
        except (ValueError, DeprecationWarning):
            pass
        for line in block.split(b"\n"):
            self._check_line(line, line_number)
            line_number += 1
        raise FormatError(f"{self.name}: expected lines of {self._columns} numbers before line {line_number}")

    def _check_line(self, line: bytes, line_number: int) -> None:
        words = line.split()
        if not words:
            return
        text = line.decode("utf-8", "replace").strip()
        if len(words) != self._columns:
            raise self._refuse(line_number, f"{self._columns} numbers", text)
        try:
            ends = int(words[0]), int(words[1])
            float(words[-1])
        except ValueError:
            raise self._refuse(line_number, f"{self._columns} numbers", text) from None
        for what, value, limit in zip(("row", "column"), ends, self._shape, strict=True):
            if not 1 <= value <= limit:
                raise self._refuse(line_number, f"a {what} from 1 to {limit}", text)


def _opened(path: str) -> IO[bytes]:
    return gzip.open(path, "rb") if path.lower().endswith(".gz") else open(path, "rb")  # type: ignore[return-value]


def _line(file: IO[bytes]) -> str:
    return file.readline(_LONGEST_LINE).decode("utf-8", "replace").strip()


def _blocks(file: IO[bytes], name: str) -> Iterator[bytes]:
    """Read blocks that end where a line ends."""
    rest = b""
    while True:
        try:
            block = file.read(_BLOCK_BYTES)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise FormatError(f"{name}: expected gzip data that is whole, found: {error}") from error
        if not block:
            break
        lines, newline, tail = (rest + block).rpartition(b"\n")
        if newline:
            yield lines + newline
        rest = tail
        if len(rest) > _BLOCK_BYTES:
            raise FormatError(f"{name}: expected lines, found {len(rest)} bytes without one")
    if rest:
        yield rest


def _has_regular_lines(block: bytes, columns: int) -> bool:
    """Whether each line has ``columns`` words, or none."""
    text = np.frombuffer(block, np.uint8)
    is_word = text > ord(" ")
    starts = np.flatnonzero(is_word[1:] & ~is_word[:-1]) + 1
    if len(text) and is_word[0]:
        starts = np.concatenate(([0], starts))
    line_ends = np.append(np.flatnonzero(text == ord("\n")), len(text))
    words = np.diff(np.searchsorted(starts, line_ends), prepend=0)
    return bool(((words == 0) | (words == columns)).all())


def _alternating(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    return np.stack((first, second), axis=1).reshape(-1)
