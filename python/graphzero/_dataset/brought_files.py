"""The files of a data set on their way from storage to a folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from graphzero._core import FormatError
from graphzero._dataset.file_kinds import open_file
from graphzero._dataset.joined_parts import JOINED
from graphzero._dataset.share_files import IDENTITY
from graphzero._files.file_header import is_done
from graphzero._files.folder import KeptFolder
from graphzero._files.manifest_paths import MANIFEST
from graphzero._files.manifest_records import FileRecord, Manifest, PartsRecord
from graphzero._files.part_header import MAGIC
from graphzero._files.pieces import PieceFile
from graphzero._files.storage import StoredPath, naming, open_ranges
from graphzero._files.transfers import BLOCK, Countdown, Meter, run_tasks

_PIECES = (".part", ".pieces")  # what PieceFile keeps
_ENDINGS = ("", *_PIECES, IDENTITY)  # of what is on its way
_DEEPEST = 100  # folders in the path of a file


def check_names(manifest: Manifest, place: StoredPath, more: Iterable[str]) -> None:
    """Refuse files that would have the name of what is beside another one while it is brought.

    ``more`` are files that are made here, with their names in the folder.
    """
    brought = [record.file for record in manifest.stored_files()]
    joined = [record.file for record in manifest.parts()]
    made = list(more)
    taken: dict[str, str] = {}  # with the folders of each file
    for file in (*brought, *joined, *made):
        if file.count("/") > _DEEPEST:
            raise FormatError(
                f"{place / MANIFEST}: expected at most {_DEEPEST} folders in the path of a file, found "
                f"{file.count('/')} in {file[:80]}{'…' * (len(file) > 80)}; push the data set again"
            )
        path = _plain(file)
        while path:
            taken.setdefault(path, file)
            path = path.rpartition("/")[0]
    beside = [(file, ending) for file in brought for ending in _PIECES]
    beside += [(file, JOINED) for file in joined] + [(file, IDENTITY) for file in made]
    for file, ending in beside:
        other = taken.get(_plain(file) + ending)
        if other is not None:
            raise FormatError(
                f"{place / MANIFEST}: expected no file with a name that stage() needs beside {file}, found {other}; "
                "give one of them another name, and push the data set again"
            )


def _plain(file: str) -> str:
    return os.path.normpath(file).replace(os.sep, "/")


def files_to_bring(manifest: Manifest, joined: Mapping[str, FileRecord]) -> Iterator[FileRecord]:
    """Iterate over the files in storage, without the parts of those that are put together already."""
    for record in manifest.files():
        if not isinstance(record, PartsRecord):
            yield record
        elif record.file not in joined:
            yield from record.part_records()


def drop_others(folder: str, files: Iterable[str]) -> None:
    """Remove what an earlier run has left that is of no use to this one, and folders that are empty then."""
    kept = {os.path.join(folder, os.path.normpath(file) + ending) for file in files for ending in _ENDINGS}
    for base, folders, names in os.walk(folder, topdown=False):
        for name in names:
            path = os.path.join(base, name)
            if path not in kept:
                os.remove(path)
        for name in folders:
            with suppress(OSError):
                os.rmdir(os.path.join(base, name))


def bytes_of_pieces(folder: str, objects: Mapping[str, Any]) -> int:
    """Return how much of the disk parts of files take already."""
    parts = (os.path.join(folder, f"{file}.part") for file in objects)
    return sum(os.stat(path).st_blocks * 512 for path in parts if os.path.exists(path))


def bring_files(
    new: KeptFolder,
    place: StoredPath,
    objects: Mapping[str, Any],
    records: Mapping[str, FileRecord],
    workers: int,
    meter: Meter,
) -> None:
    """Bring files in pieces, and look at each when it is whole."""

    def bring(file: str, part: PieceFile, begin: int, end: int, whole: Countdown) -> None:
        path = place / file
        with open_ranges(path) as source:
            for at in range(begin, end, BLOCK):
                size = min(BLOCK, end - at)
                with naming(path, Exception):
                    source.seek(at)
                    data = source.read(size)
                if len(data) != size:
                    raise OSError(errno.EIO, f"expected {size} bytes from {at} on, found {len(data)}", str(path))
                part.write(at, data)
                meter.add(size)
        part.finish(begin)
        if whole.last():
            part.complete()
            _check_header(new.file(file), records[file], path)

    def tasks() -> Iterator[Callable[[], None]]:
        for file, facts in objects.items():
            identity = f"{records[file].fingerprint:#018x} {facts.size} {facts.mtime_ns}"
            part = PieceFile(new.file(file), facts.size, identity)
            opened.append(part)
            missing = list(part.missing())
            meter.there += facts.size - sum(end - begin for begin, end in missing)
            whole = Countdown(len(missing))
            if not missing:
                part.complete()
                _check_header(new.file(file), records[file], place / file)
            for begin, end in missing:
                yield partial(bring, file, part, begin, end, whole)

    opened: list[PieceFile] = []
    try:
        run_tasks(workers, meter, tasks())
    finally:
        for part in opened:
            part.close()


def _check_header(path: str, record: FileRecord, origin: StoredPath) -> None:
    try:
        with open(path, "rb") as file:
            is_part = file.read(len(MAGIC)) == MAGIC
        if is_part:  # which is read when it is put together with the others
            problem = "" if is_done(path, record) else "expected another file"
        else:
            with open_file(path) as store:
                problem = record.mismatch(store)
    except FormatError as error:
        problem = str(error).removeprefix(f"{path}: ")
    if problem:
        os.remove(path)
        raise FormatError(f"{origin}: {problem}; stage again, and push the data set again if that does not help")
