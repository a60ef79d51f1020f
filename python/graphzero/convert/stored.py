"""Sources in object storage: which files a URL names, and which of them can be read there."""

from __future__ import annotations

import os
from typing import Any

from graphzero._core import FormatError
from graphzero._files.storage import StoredPath, facts_of, is_url, listed, located

# Files that are mapped, or whose parts are looked up in any order.
_NOT_THERE = (".npz", ".mtx", ".mtx.gz", ".sg", ".wsg", ".pt", ".pth", ".gl", ".gd", ".gi")


def stored_paths(source: Any) -> Any:
    """Return a source whose URLs, patterns among them, are paths of files in storage; any other as it is."""
    if isinstance(source, StoredPath):
        return source
    if is_url(source):
        found = _files(source)
        return found[0] if len(found) == 1 else found
    if isinstance(source, (list, tuple)) and any(map(is_url, source)):
        if all(isinstance(given, StoredPath) for given in source):
            return source
        return [path for given in source for path in (_files(given) if is_url(given) else [os.fsdecode(given)])]
    return source


class SameFiles:
    """The files of a source that are in storage, which must be the same when they have been read.

    They are read by many requests, and one that is replaced would come in part from the old file. Files of a disk stay
    what they are for whoever has opened them, or are refused where they are read.
    """

    def __init__(self, source: Any) -> None:
        given = source if isinstance(source, (list, tuple)) else [source]
        self._found = [(path, *_size_and_time(path)) for path in given if isinstance(path, StoredPath)]

    def __bool__(self) -> bool:
        return bool(self._found)

    def check(self) -> None:
        """Refuse a file that was replaced."""
        for path, *found in self._found:
            if list(_size_and_time(path)) != found:
                raise FormatError(f"{path}: expected the same file until it is read, found another; convert it again")


def _size_and_time(path: StoredPath) -> tuple[int, int]:
    [facts] = facts_of([path])
    return int(facts.size), int(facts.mtime_ns or 0)


def one_stored_path(source: Any) -> Any:
    """Return a source that is one file; of any other thing, the thing itself."""
    found = stored_paths(source) if is_url(source) else source
    if is_url(source) and isinstance(found, list):
        raise ValueError(f"{located(source)}: expected one file, found {len(found)}, such as {found[0]}")
    return found


def _files(url: str) -> list[StoredPath]:
    found = listed(located(url))
    for path in found:
        if path.lower().endswith(_NOT_THERE):
            raise ValueError(
                f"{path}: expected Parquet, Arrow, text or .npy, which are read in storage; copy this file to a disk, "
                "and give its path there"
            )
    return found
