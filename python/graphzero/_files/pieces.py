"""A file that comes piece by piece, in any order. What came before a kill does not come again."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator

from graphzero._files.renames import replace

PIECE = 64 << 20  # bytes

_PART = ".part"
_PIECES = ".pieces"
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)


class PieceFile:
    """A file of known size under a temporary name, beside a list of the pieces that are on disk.

    ``identity`` tells one content from another: pieces of another are forgotten.
    """

    def __init__(self, path: str, size: int, identity: str) -> None:
        self._path = path
        self._size = size
        self._lock = threading.Lock()
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self._done = self._listed(identity)
        fresh = self._done is None
        if self._done is None:
            self._done = set()
            with open(path + _PIECES, "w", encoding="utf-8", newline="\n") as file:
                file.write(f"{identity}\n")
        self._file = os.open(path + _PART, _FLAGS | (os.O_TRUNC if fresh else 0), 0o666)
        try:
            os.ftruncate(self._file, size)
        except OSError as error:
            self.close()
            raise OSError(error.errno, error.strerror, path) from None

    def _listed(self, identity: str) -> set[int] | None:
        try:
            with open(self._path + _PIECES, "rb") as file:
                content = file.read()
            first, *lines = content.decode().split("\n")
            there = os.path.getsize(self._path + _PART) == self._size
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        if first != identity or not there:
            return None
        if lines and lines[-1]:  # a kill or a full disk has cut it: the next number would be written behind it
            os.truncate(self._path + _PIECES, content.rfind(b"\n") + 1)
        return {int(line) for line in lines[:-1] if line.isascii() and line.isdigit()}

    def missing(self) -> Iterator[tuple[int, int]]:
        """Return begin and end of each piece that has not come yet."""
        assert self._done is not None
        for number, begin in enumerate(range(0, self._size, PIECE)):
            if number not in self._done:
                yield begin, min(begin + PIECE, self._size)

    def write(self, begin: int, data: bytes) -> None:
        """Write bytes of a piece; for any thread."""
        view = memoryview(data)
        try:
            while view:
                written = self._write_at(view, begin)
                view, begin = view[written:], begin + written
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._path) from None

    def _write_at(self, data: memoryview, begin: int) -> int:
        if sys.platform != "win32":
            return os.pwrite(self._file, data, begin)
        with self._lock:
            os.lseek(self._file, begin, os.SEEK_SET)
            return os.write(self._file, data)

    def finish(self, begin: int) -> None:
        """Remember that the piece that begins here is there; for any thread."""
        getattr(os, "fdatasync", os.fsync)(self._file)  # only Linux has it
        with self._lock, open(self._path + _PIECES, "a", encoding="utf-8", newline="\n") as file:
            file.write(f"{begin // PIECE}\n")

    def complete(self) -> None:
        """Give the file its name."""
        os.fsync(self._file)
        self.close()
        replace(self._path + _PART, self._path)
        os.remove(self._path + _PIECES)

    def close(self) -> None:
        """Close the file. May be called again."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
