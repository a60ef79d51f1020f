"""The files that steps of a conversion exchange: in a folder that all machines see, or in object storage."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from graphzero._core import FormatError
from graphzero._files.file_header import HEADER_SIZE, fingerprint_of, size_in
from graphzero._files.folder import check_regular, make_folder, replace_file, temporary_folder
from graphzero._files.part_header import HEADER_BYTES, PartHeader, part_header
from graphzero._files.storage import (
    StoredPath,
    check_object_size,
    facts_of,
    first_bytes,
    found_at,
    is_there,
    is_url,
    located,
    naming,
    open_ranges,
    path_text,
    read_range,
    remove_stored,
    size_of,
    write_stored,
)

_BLOCK = 8 << 20  # bytes of a request
_THREADS = 8
# Of the first page of a file: docs/formats/container.md.
_PAGE = 4096
_NUM_SECTIONS = slice(32, 36)
_TABLE, _ENTRY = 256, 40
_RECORDS = 2  # the kind of the section with records, below the bit of its index; the others are tables


class StepFiles:
    """A folder for a plan, records and parts. In storage, every file goes through one of this machine's disk."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._place = located(folder) if is_url(folder) else None
        self.folder: str = os.path.abspath(path_text(folder, "folder")) if self._place is None else self._place

    @property
    def is_stored(self) -> bool:
        """Whether it is in storage."""
        return self._place is not None

    @property
    def address(self) -> str:
        """The folder, or the URL by which another machine finds it, with credentials of its own."""
        return self.folder if self._place is None else self._place.address

    def make(self) -> None:
        """Make the folder, where there are folders."""
        if self._place is None:
            make_folder(self.folder, "folder")

    def path(self, name: str) -> str:
        """Return where a file is."""
        return os.path.join(self.folder, name) if self._place is None else self._place / name

    def expect(self, name: str, step: str) -> str:
        """Return where a file is; refuse if the step that writes it did not run."""
        path = self.path(name)
        if not self.is_there(name):
            raise FileNotFoundError(errno.ENOENT, f"is missing: expected the file of {step}, which comes first", path)
        if self._place is None:
            check_regular(path)
        return path

    def is_there(self, name: str) -> bool:
        """Whether there is such a file, perhaps half of it."""
        path = self.path(name)
        return is_there(path) if isinstance(path, StoredPath) else os.path.exists(path)

    def has(self, name: str) -> bool:
        """Whether a step has written a file. Of one in storage, an upload that failed may have left half."""
        path = self.path(name)
        if not isinstance(path, StoredPath):
            return os.path.exists(path)
        [facts] = found_at([path])
        header = read_range(path, 0, HEADER_SIZE) if facts.is_file else b""
        return len(header) > 0 and (fingerprint_of(header) is None or size_in(header) == facts.size)

    def read(self, name: str) -> bytes:
        """Return a small file."""
        path = self.path(name)
        if isinstance(path, StoredPath):
            return read_range(path, 0, size_of(path))
        check_regular(path)
        with open(path, "rb") as file:
            return file.read()

    def replace(self, name: str, content: bytes) -> None:
        """Write a small file."""
        path = self.path(name)
        if isinstance(path, StoredPath):
            write_stored(path, iter([content]))
        else:
            replace_file(path, content)

    def remove(self, name: str) -> None:
        """Remove a file."""
        path = self.path(name)
        if isinstance(path, StoredPath):
            remove_stored(path)
        else:
            os.remove(path)

    @contextmanager
    def scratch(self) -> Iterator[str]:
        """Give a folder on this machine's disk for what does not fit in memory, and for copies with their names."""
        if self._place is None:
            yield self.folder
            return
        import tempfile  # slow to load

        with tempfile.TemporaryDirectory(prefix="graphzero-", dir=temporary_folder()) as folder:
            try:
                yield folder
            except ValueError as error:
                # What is told of a copy is true of the file that was copied, and that one can be removed.
                text = str(error).replace(os.path.join(folder, ""), f"{self._place / ''}")
                if type(error) not in (FormatError, ValueError) or text == str(error):
                    raise
                raise type(error)(text) from None

    def written(self, name: str, scratch: str) -> str:
        """Return where to write a file of this machine before ``finish()``."""
        return os.path.join(self.folder if self._place is None else scratch, name)

    def finish(self, name: str, scratch: str) -> None:
        """Bring a file that was written to its place, unless another attempt at the step was faster."""
        goal = self.path(name)
        if isinstance(goal, StoredPath):
            path = self.written(name, scratch)
            # Readers may be in the middle of it, and a second attempt may have another order within buckets.
            if not (is_there(goal) and size_of(goal) == os.path.getsize(path)):
                check_object_size(goal, os.path.getsize(path))
                write_stored(goal, file_blocks(path))
            os.remove(path)

    def brought(self, names: Sequence[str], scratch: str) -> list[str]:
        """Return paths on this machine of whole files."""
        paths = [self.path(name) for name in names]
        if self._place is None:
            return paths
        copies = [os.path.join(scratch, name) for name in names]
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(_bring, paths, copies))
        return copies

    @contextmanager
    def held(self, names: Sequence[str], scratch: str) -> Iterator[list[str]]:
        """Give paths on this machine of whole files for a block; copies are removed behind it."""
        paths = self.brought(names, scratch)
        yield paths
        if self._place is not None:
            for path in paths:
                os.remove(path)

    def with_header(self, name: str, scratch: str) -> str:
        """Return a path on this machine of a file of which at least the first page can be read."""
        path = self.path(name)
        if not isinstance(path, StoredPath):
            return path
        copy = os.path.join(scratch, name)  # whoever needs the rest, brings the file anew
        with open(copy, "wb") as file:
            file.write(read_range(path, 0, _PAGE))
            file.truncate(size_of(path))
        return copy

    def inside(self, place: StoredPath) -> str | None:
        """Return the path from ``place`` to this folder, with a slash behind it, if it is there."""
        if self._place is None or not self._place.filesystem.equals(place.filesystem):
            return None
        own, other = self._place.key.rstrip("/") + "/", place.key.rstrip("/") + "/"
        return own.removeprefix(other) if own.startswith(other) else None

    def header(self, name: str) -> PartHeader:
        """Return what the first page of a part says; of other files, only size and fingerprint mean anything."""
        header = part_header(first_bytes(self.path(name), HEADER_BYTES))
        if header.size != (found := size_of(self.path(name))):
            raise FormatError(f"{self.path(name)}: expected {header.size} bytes, found {found}; repeat the step")
        return header

    def copy(self, name: str, goal: StoredPath) -> None:
        """Bring a file to a place in storage, unless it is there."""
        path = self.path(name)
        header = self.header(name)
        if is_there(goal) and size_of(goal) == header.size:
            return
        check_object_size(goal, header.size)
        write_stored(goal, stored_blocks(path) if isinstance(path, StoredPath) else file_blocks(path))
        if (found := size_of(goal)) != header.size:
            raise OSError(errno.EIO, f"expected {header.size} bytes, found {found}; commit again", str(goal))

    def bring(self, name: str, place: StoredPath, folder: str) -> str:
        """Return where a file is below a place in storage; it is copied to this folder there unless it is."""
        if (inside := self.inside(place)) is not None:
            return f"{inside}{name}"
        self.copy(name, place / f"{folder}/{name}")
        return f"{folder}/{name}"

    def range_blocks(self, name: str, offset: int, length: int, size: int) -> Iterator[bytes]:
        """Iterate over a range of a file, ``size`` bytes at a time."""
        path = self.path(name)
        with open_ranges(path) if isinstance(path, StoredPath) else open(path, "rb") as file:
            file.seek(offset)
            for at in range(0, length, size):
                wanted = min(size, length - at)
                block = _read(file, path, wanted) if isinstance(path, StoredPath) else file.read(wanted)
                if len(block) != wanted:
                    raise FormatError(f"{path}: expected {length - at} more bytes, found its end; repeat the step")
                yield block

    def tables(self, names: Sequence[str], scratch: str) -> RecordTables:
        """Return the files of tasks, of which headers and tables can be read."""
        return RecordTables([self.path(name) for name in names], [os.path.join(scratch, name) for name in names])


class RecordTables:
    """The files of all tasks on this machine. Of those in storage only what is asked for takes space."""

    def __init__(self, sources: Sequence[str], copies: list[str]) -> None:
        self._sources = [path for path in sources if isinstance(path, StoredPath)]
        self.paths = list(sources)
        if not self._sources:
            return
        self.paths = copies
        self._facts = facts_of(self._sources)
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(self._bring_table, range(len(sources))))

    def _bring_table(self, number: int) -> None:
        source = self._sources[number]
        page = read_range(source, 0, _PAGE)
        with open(self.paths[number], "wb") as file:
            file.truncate(self._facts[number].size)
            file.write(page)
        for entry in range(min(64, int.from_bytes(page[_NUM_SECTIONS], "little"))):
            begin = _TABLE + entry * _ENTRY
            kind = int.from_bytes(page[begin : begin + 4], "little")
            offset, length = (int.from_bytes(page[begin + at : begin + at + 8], "little") for at in (16, 24))
            if kind % 16 != _RECORDS and offset + length <= self._facts[number].size:
                _bring_range(source, self.paths[number], offset, length)

    def bring(self, slices: Sequence[tuple[int, int]]) -> None:
        """Read offset and length of each file, and refuse if one was replaced since its table was read."""
        if not self._sources:
            return
        with ThreadPoolExecutor(_THREADS) as pool:
            offsets, lengths = zip(*slices, strict=True)
            list(pool.map(_bring_range, self._sources, self.paths, offsets, lengths))
        for source, before, now in zip(self._sources, self._facts, facts_of(self._sources), strict=True):
            if (before.size, before.mtime_ns) != (now.size, now.mtime_ns):
                raise OSError(errno.EBUSY, "was replaced while it was read; repeat the step", str(source))


def file_blocks(path: str) -> Iterator[bytes]:
    """Iterate over the bytes of a file."""
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            yield block


def stored_blocks(path: StoredPath) -> Iterator[bytes]:
    """Iterate over the bytes of a file in storage."""
    with open_ranges(path) as source:
        while block := _read(source, path, _BLOCK):
            yield block


def _read(source: Any, path: StoredPath, size: int) -> bytes:
    with naming(path, Exception):
        return bytes(source.read(size))


def _bring(path: StoredPath, copy: str) -> None:
    size = size_of(path)
    with open(copy, "wb") as file:
        file.truncate(size)
    _bring_range(path, copy, 0, size)


def _bring_range(path: StoredPath, copy: str, offset: int, length: int) -> None:
    """Read bytes of a file to the same place of its copy."""
    if not length:
        return
    with open_ranges(path) as source, open(copy, "r+b") as file:
        with naming(path, Exception):
            source.seek(offset)
        file.seek(offset)
        while length:
            block = _read(source, path, min(_BLOCK, length))
            if not block:
                raise OSError(errno.EIO, f"expected {length} more bytes, found its end; repeat the step", str(path))
            file.write(block)
            length -= len(block)
