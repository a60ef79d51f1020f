"""The source of a conversion in shards, cut into what each task reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from graphzero._files.storage import StoredPath, facts_of, is_url, located, size_of

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Piece:
    """A file, or a range of it: of bytes of text, rows of an array, row groups of a Parquet file."""

    path: str  # or a URL without credentials, by which every machine finds it
    size: int  # of the file, when it was planned
    modified: int  # when it was changed, in nanoseconds; 0 where storage does not say
    begin: int | None = None
    end: int | None = None

    @property
    def source(self) -> str:
        """The file; a URL is found again, with the credentials of this machine."""
        return located(self.path) if is_url(self.path) else self.path

    @property
    def range(self) -> tuple[int, int] | None:
        """The range, if it is not the whole file."""
        return None if self.begin is None or self.end is None else (self.begin, self.end)

    def check(self) -> None:
        """Refuse a file that has changed."""
        source = self.source
        if (found := size_of(source)) != self.size:
            raise ValueError(
                f"{source}: expected {self.size} bytes, as when it was planned, found {found}; plan it again"
            )
        if _modified(source) != self.modified:
            raise ValueError(
                f"{source}: expected a file as old as when it was planned, found one that was changed since; plan "
                "it again"
            )


def pieces_of(path: str, ranges: Iterable[tuple[int, int]] | None) -> Iterator[Piece]:
    """Return a file in pieces, or in one."""
    name = path.address if isinstance(path, StoredPath) else os.path.abspath(path)
    size, changed = size_of(path), _modified(path)
    if ranges is None:
        yield Piece(name, size, changed)
    else:
        for begin, end in ranges:
            yield Piece(name, size, changed, begin, end)


def joined_to_tasks(pieces: Iterable[Piece], size: int) -> list[list[Piece]]:
    """Join small files to tasks; there is always one task."""
    tasks: list[list[Piece]] = [[]]
    held = 0
    for piece in pieces:
        length = min(piece.size, size)  # a range is as large as a task, or a small file
        if tasks[-1] and held + length > size:
            tasks.append([])
            held = 0
        tasks[-1].append(piece)
        held += length
    return tasks


def _modified(path: str) -> int:
    """Return when a file was changed, in nanoseconds; 0 where storage does not say."""
    return int(facts_of([path])[0].mtime_ns or 0) if isinstance(path, StoredPath) else os.stat(path).st_mtime_ns


def counting_for_errors(pieces: list[Piece], read: Callable[[bool], _Result]) -> _Result:
    """Read pieces; if that fails, once more, so that the error has the number of the line in the file."""
    try:
        return read(False)
    except ValueError:
        if all(piece.range is None for piece in pieces):
            raise
        return read(True)
